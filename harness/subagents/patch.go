package subagents

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"mikan/harness"
	"mikan/wire"
)

// Load returns the built-in profiles as files patch them, and those that the
// files add, ordered by name. A file that is no good changes nothing, and a note
// says why.
func Load(docs []harness.Document) (list []Profile, notes []string) {
	list = Builtin()
	for _, d := range docs {
		at := slices.IndexFunc(list, func(p Profile) bool { return p.Name == d.Name })
		p := Profile{Name: d.Name, Thinking: "high", Limits: Default}
		if at >= 0 {
			p = list[at]
		}
		err := p.patch(d)
		switch {
		case err != nil:
			notes = append(notes, fmt.Sprintf("%s.md: %v", d.Name, err))
		case at >= 0:
			list[at] = p
		default:
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b Profile) int { return strings.Compare(a.Name, b.Name) })
	return list, notes
}

// patchKeys are what the frontmatter of a profile can say. The name is the
// file's.
var patchKeys = []string{"name", "description", "tools", "model", "thinking", "max_turns", "max_tokens", "max_duration_ms", "max_cost_usd"}

// patch changes the fields of p that d gives.
func (p *Profile) patch(d harness.Document) error {
	if !nameFormat.MatchString(d.Name) {
		return errors.New("the file's name is not 1 to 64 letters, digits, _ and -")
	}
	for _, key := range slices.Sorted(maps.Keys(d.Fields)) {
		if err := p.set(key, d.Fields[key]); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	if d.Body != "" {
		p.Prompt = d.Body
	}
	_, tools := d.Fields["tools"]
	switch {
	case p.Prompt == "":
		return errors.New("a new profile needs a prompt, after the frontmatter")
	case p.Tools == nil && !tools:
		return errors.New("a new profile needs tools: a list with commas, or none")
	}
	return nil
}

func (p *Profile) set(key, value string) (err error) {
	switch key {
	case "name":
		if value != p.Name {
			err = fmt.Errorf("%.80q is not the file's name", value)
		}
	case "description":
		p.Description = value
	case "tools":
		p.Tools, err = tools(value)
	case "model":
		if p.Model = value; !strings.Contains(value, "/") {
			err = fmt.Errorf("%.80q: want provider/model", value)
		}
	case "thinking":
		if p.Thinking = value; !slices.Contains(harness.Levels, value) {
			err = fmt.Errorf("%.40q: want one of %s", value, strings.Join(harness.Levels, ", "))
		}
	case "max_turns":
		p.Limits.Calls, err = positive(value)
	case "max_tokens":
		p.Limits.Tokens, err = positive(value)
	case "max_duration_ms":
		var ms int
		ms, err = positive(value)
		p.Limits.Duration = time.Duration(ms) * time.Millisecond
	case "max_cost_usd":
		p.Limits.CostUSD, err = cost(value)
	default:
		err = fmt.Errorf("unknown key%s", wire.DidYouMean(key, patchKeys))
	}
	return err
}

// tools reads a list with commas; none is an empty one.
func tools(value string) ([]string, error) {
	list := []string{}
	if value == "none" {
		return list, nil
	}
	for name := range strings.SplitSeq(value, ",") {
		switch name = strings.TrimSpace(name); {
		case !nameFormat.MatchString(name):
			return nil, fmt.Errorf("%.80q is not a tool's name; want a list with commas, or none", name)
		case slices.Contains(list, name): // no provider takes a tool twice
		case len(list) == maxTools:
			return nil, fmt.Errorf("more than %d tools, the limit", maxTools)
		default:
			list = append(list, name)
		}
	}
	return list, nil
}

func positive(value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > math.MaxInt32 {
		return 0, fmt.Errorf("%.40q is not a positive number", value)
	}
	return n, nil
}

// cost reads an amount of US dollars. Of nothing a limit is reached as soon as
// anything costs.
func cost(value string) (float64, error) {
	usd, err := strconv.ParseFloat(value, 64)
	if err != nil || !(usd >= 0) || math.IsInf(usd, 0) {
		return 0, fmt.Errorf("%.40q is not an amount of US dollars", value)
	}
	return max(usd, math.SmallestNonzeroFloat64), nil
}
