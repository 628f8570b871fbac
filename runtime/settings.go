package runtime

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mikan/harness"
	"mikan/wire"
)

// Settings is settings.json, of the daemon or of one office. Every key is
// optional; what an office does not set, the daemon's settings decide.
type Settings struct {
	LLM        LLM                  `json:"llm,omitzero"`
	Sentry     Sentry               `json:"sentry,omitzero"`
	Slack      Slack                `json:"slack,omitzero"`
	Office     OfficeSettings       `json:"office,omitzero"`
	Sandbox    Sandbox              `json:"sandbox,omitzero"`
	MCPServers map[string]MCPServer `json:"mcpServers,omitempty"`
	Skills     []string             `json:"skills,omitempty"`
	Queue      Queue                `json:"queue,omitzero"`
	Budget     Budget               `json:"budget,omitzero"`
}

// LLM says which model answers.
type LLM struct {
	Provider      string `json:"provider,omitempty"`
	Model         string `json:"model,omitempty"`
	ThinkingLevel string `json:"thinkingLevel,omitempty"`
}

// Sentry says where errors are reported.
type Sentry struct {
	DSN string `json:"dsn,omitempty"`
}

// Slack says where answers go: "top-level" or "thread".
type Slack struct {
	ReplyMode string `json:"replyMode,omitempty"`
}

// OfficeSettings narrows who sees an office: "private" or nothing.
type OfficeSettings struct {
	Visibility string `json:"visibility,omitempty"`
}

// Sandbox limits an office's computer.
type Sandbox struct {
	CPUs               string `json:"cpus,omitempty"`
	Memory             string `json:"memory,omitempty"`
	Boost              Limits `json:"boost,omitzero"`
	DefaultSharedVault string `json:"defaultSharedVault,omitempty"`
}

// Limits are a number of processors and an amount of memory, "0.5" and "1g".
type Limits struct {
	CPUs   string `json:"cpus,omitempty"`
	Memory string `json:"memory,omitempty"`
}

// MCPServer is a server of tools: a command, or a URL.
type MCPServer struct {
	Command     string            `json:"command,omitempty"`
	Args        []string          `json:"args,omitempty"`
	Env         map[string]string `json:"env,omitempty"`
	URL         string            `json:"url,omitempty"`
	Headers     map[string]string `json:"headers,omitempty"`
	Disabled    bool              `json:"disabled,omitempty"`
	Exposure    string            `json:"exposure,omitempty"`
	Description string            `json:"description,omitempty"`
}

// ParseSettings reads and checks settings.json; file is its name for the
// errors. An empty text is {}.
func ParseSettings(file string, data []byte) (Settings, error) {
	var s Settings
	if len(strings.TrimSpace(string(data))) == 0 {
		return s, &wire.JSONError{File: file, Line: 1, Text: "the file is empty; write {} for no settings"}
	}
	if err := wire.DecodeJSON(file, data, &s); err != nil {
		return Settings{}, err
	}
	if key, err := s.check(); err != nil {
		return Settings{}, &wire.JSONError{File: file, Line: lineOf(data, key), Text: key + ": " + err.Error()}
	}
	return s, nil
}

var (
	cpusFormat   = regexp.MustCompile(`^([0-9]+(\.[0-9]+)?|\.[0-9]+)$`)
	memoryFormat = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?([bkmg]b?)?$`)
	vaultFormat  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	serverFormat = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)
)

// check returns the first key whose value cannot be right.
func (s Settings) check() (key string, err error) {
	checks := []struct {
		key, value string
		ok         bool
		want       string
	}{
		{"llm.thinkingLevel", s.LLM.ThinkingLevel, slices.Contains(harness.Levels, s.LLM.ThinkingLevel), strings.Join(harness.Levels, ", ")},
		{"slack.replyMode", s.Slack.ReplyMode, s.Slack.ReplyMode == "top-level" || s.Slack.ReplyMode == "thread", "top-level or thread"},
		{"office.visibility", s.Office.Visibility, s.Office.Visibility == "private", "private"},
		{"sandbox.cpus", s.Sandbox.CPUs, cpusFormat.MatchString(s.Sandbox.CPUs), `a number such as "0.5"`},
		{"sandbox.memory", s.Sandbox.Memory, memoryFormat.MatchString(strings.ToLower(s.Sandbox.Memory)), `an amount such as "1g"`},
		{"sandbox.boost.cpus", s.Sandbox.Boost.CPUs, cpusFormat.MatchString(s.Sandbox.Boost.CPUs), `a number such as "2"`},
		{"sandbox.boost.memory", s.Sandbox.Boost.Memory, memoryFormat.MatchString(strings.ToLower(s.Sandbox.Boost.Memory)), `an amount such as "4g"`},
		{"sandbox.defaultSharedVault", s.Sandbox.DefaultSharedVault, vaultFormat.MatchString(s.Sandbox.DefaultSharedVault), "the name of a shared vault"},
		{"queue.mode", string(s.Queue.Mode), slices.Contains(QueueModes, s.Queue.Mode), "queue, steer, refuse"},
	}
	for _, c := range checks {
		if c.value != "" && !c.ok {
			return c.key, fmt.Errorf("%q: want %s%s", c.value, c.want, wire.DidYouMean(c.value, strings.Split(c.want, ", ")))
		}
	}
	if (s.LLM.Provider == "") != (s.LLM.Model == "") {
		return "llm", fmt.Errorf("provider and model go together; set both or neither")
	}
	if key, err := s.Budget.check(); err != nil {
		return key, err
	}
	for _, p := range s.Skills {
		if err := harness.CheckSkillPattern(p); err != nil {
			return "skills", err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.MCPServers)) {
		if err := s.MCPServers[name].check(name); err != nil {
			return "mcpServers." + name, err
		}
	}
	return "", nil
}

func (m MCPServer) check(name string) error {
	switch {
	case !serverFormat.MatchString(name):
		return fmt.Errorf("want a name of letters, digits, _ and -")
	case m.Exposure != "" && m.Exposure != "codemode" && m.Exposure != "deferred":
		return fmt.Errorf("exposure %q: want codemode or deferred", m.Exposure)
	case (m.Command == "") == (m.URL == "") && !m.Disabled:
		return fmt.Errorf("want either a command or a url")
	case m.URL != "" && !webAddress(m.URL):
		return fmt.Errorf("url: want http://… or https://…")
	}
	return nil
}

// webAddress reports whether text is one; it is not shown, for it may hold a
// secret.
func webAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// lineOf finds the line of a key such as llm.thinkingLevel: the last part, after
// the parts before it.
func lineOf(data []byte, key string) int {
	at, text := 0, string(data)
	for _, part := range strings.Split(key, ".") {
		i := strings.Index(text[at:], `"`+part+`"`)
		if i < 0 {
			break
		}
		at += i
	}
	return 1 + strings.Count(text[:at], "\n")
}

// Over returns base with what s sets in its place: llm, sentry, office, queue and
// budget key by key, sandbox key by key and boost one level deeper, mcpServers
// server by server, slack as a whole. Skill patterns are applied one list after the other
// and so are kept in both.
func (s Settings) Over(base Settings) Settings {
	out := base
	set(&out.LLM.ThinkingLevel, s.LLM.ThinkingLevel)
	if s.LLM.Provider != "" {
		out.LLM.Provider, out.LLM.Model = s.LLM.Provider, s.LLM.Model
	}
	set(&out.Sentry.DSN, s.Sentry.DSN)
	set(&out.Office.Visibility, s.Office.Visibility)
	if s.Slack != (Slack{}) {
		out.Slack = s.Slack
	}
	set(&out.Sandbox.CPUs, s.Sandbox.CPUs)
	set(&out.Sandbox.Memory, s.Sandbox.Memory)
	set(&out.Sandbox.Boost.CPUs, s.Sandbox.Boost.CPUs)
	set(&out.Sandbox.Boost.Memory, s.Sandbox.Boost.Memory)
	set(&out.Sandbox.DefaultSharedVault, s.Sandbox.DefaultSharedVault)
	if len(s.MCPServers) > 0 {
		out.MCPServers = maps.Clone(base.MCPServers)
		if out.MCPServers == nil {
			out.MCPServers = map[string]MCPServer{}
		}
		maps.Copy(out.MCPServers, s.MCPServers)
	}
	out.Skills = slices.Concat(harness.SkillPatterns(base.Skills), harness.SkillPatterns(s.Skills))
	if s.Queue.Mode != "" {
		out.Queue.Mode = s.Queue.Mode
	}
	out.Budget = s.Budget.over(base.Budget)
	return out
}

func set(to *string, value string) {
	if value != "" {
		*to = value
	}
}

// baked reports whether a change from s to t touches what a live runner was made
// with, so that it must not be made while the runner works.
func (s Settings) baked(t Settings) bool {
	return s.LLM != t.LLM || s.Office != t.Office || !slices.Equal(s.Skills, t.Skills) ||
		!maps.EqualFunc(s.MCPServers, t.MCPServers, func(a, b MCPServer) bool {
			x, _ := json.Marshal(a)
			y, _ := json.Marshal(b)
			return string(x) == string(y)
		})
}

// loadSettings reads a settings file; one that is absent is {}.
func loadSettings(path string) (Settings, error) {
	data, ok, err := readState(path)
	if err != nil || !ok {
		return Settings{}, err
	}
	return ParseSettings(path, data)
}

// format is how a settings file is written.
func (s Settings) format() []byte {
	data, _ := json.MarshalIndent(s, "", "  ") // strings, lists and maps of strings: it cannot fail
	return append(data, '\n')
}

// ReadSettings reads the daemon's settings.json in a state directory.
func ReadSettings(stateDir string) (Settings, error) { return loadSettings(settingsIn(stateDir)) }

func settingsIn(stateDir string) string { return filepath.Join(stateDir, "settings.json") }
