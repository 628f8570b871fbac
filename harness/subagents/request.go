package subagents

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"mikan/harness"
)

// assignment is one task as a model writes it.
type assignment struct {
	Task          string          `json:"task"`
	Profile       string          `json:"profile"`
	Label         string          `json:"label"`
	Input         json.RawMessage `json:"input"`
	ParentContext *parentContext  `json:"parentContext"`
	OutputSchema  json.RawMessage `json:"outputSchema"`
	Budget        *budget         `json:"budget"`
}

type parentContext struct {
	Mode        string `json:"mode"`
	RecentTurns *int   `json:"recentTurns"`
}

type budget struct {
	MaxTokens int `json:"maxTokens"`
}

// node is a task of a graph.
type node struct {
	ID string `json:"id"`
	assignment
	DependsOn []string `json:"dependsOn"`
}

type request struct {
	assignment
	Tasks []assignment `json:"tasks"`
	DAG   *struct {
		Nodes []node `json:"nodes"`
	} `json:"dag"`
}

// step is a task that has been checked.
type step struct {
	id      string // of a graph's node
	task    string
	profile string
	label   string
	input   string
	turns   int // of the parent's conversation
	schema  *jsonschema.Resolved
	shape   string // the schema as it was written
	tokens  int
	needs   []int // steps whose results it gets
}

// name is what people call the step, the nth of a call.
func (s step) name(n int) string {
	switch {
	case s.label != "":
		return s.label
	case s.id != "":
		return s.id
	}
	return fmt.Sprintf("%s %d", s.profile, n+1)
}

// parse reads and checks a request, whole: nothing of one that is wrong is run.
func parse(args json.RawMessage) ([]step, error) {
	var r request
	if err := json.Unmarshal(args, &r); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			field := strings.ReplaceAll(wrong.Field, "assignment.", "") // no word of the model's
			return nil, fmt.Errorf("bad arguments: %s cannot be a JSON %s", field, wrong.Value)
		}
		return nil, fmt.Errorf("bad arguments: %w", err)
	}
	single, many, graph := r.Task != "", len(r.Tasks) > 0, r.DAG != nil && len(r.DAG.Nodes) > 0
	switch {
	case single && !many && !graph:
		s, err := r.step("")
		return []step{s}, err
	case many && !single && !graph:
		return r.list()
	case graph && !single && !many:
		return r.graph()
	}
	return nil, errors.New("bad arguments: give exactly one of task, tasks and dag.nodes")
}

// apart refuses what a task among others says for itself.
func (r request) apart() error {
	if r.Profile != "" || given(r.Input) || r.ParentContext != nil || given(r.OutputSchema) || r.Budget != nil {
		return errors.New("bad arguments: profile, input, parentContext, outputSchema and budget stand with each task, not beside them")
	}
	return nil
}

func (r request) list() ([]step, error) {
	if len(r.Tasks) > maxTasks {
		return nil, fmt.Errorf("tasks has %d entries; the limit is %d", len(r.Tasks), maxTasks)
	}
	steps := make([]step, len(r.Tasks))
	for i, a := range r.Tasks {
		var err error
		if steps[i], err = a.step(fmt.Sprintf("tasks[%d].", i)); err != nil {
			return nil, err
		}
	}
	return steps, r.apart()
}

func (r request) graph() ([]step, error) {
	nodes := r.DAG.Nodes
	needs, err := order(nodes)
	if err != nil {
		return nil, err
	}
	steps := make([]step, len(nodes))
	for i, n := range nodes {
		if steps[i], err = n.step(fmt.Sprintf("dag node %s: ", n.ID)); err != nil {
			return nil, err
		}
		steps[i].id, steps[i].needs = n.ID, needs[i]
	}
	return steps, r.apart()
}

var nameFormat = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// step checks one task; at is where it stands.
func (a assignment) step(at string) (step, error) {
	s := step{task: a.Task, profile: a.Profile, label: a.Label}
	if s.profile == "" {
		s.profile = defaultProfile
	}
	switch {
	case a.Task == "":
		return s, fmt.Errorf("%stask is missing", at)
	case utf8.RuneCountInString(a.Profile) > maxProfile:
		return s, fmt.Errorf("%sprofile is longer than the limit of %d characters", at, maxProfile)
	case utf8.RuneCountInString(a.Label) > maxLabel:
		return s, fmt.Errorf("%slabel is longer than the limit of %d characters", at, maxLabel)
	}
	if given(a.Input) {
		s.input = string(a.Input)
	}
	if a.Budget != nil {
		if s.tokens = a.Budget.MaxTokens; s.tokens < 0 {
			return s, fmt.Errorf("%sbudget.maxTokens is less than nothing", at)
		}
	}
	if c := a.ParentContext; c != nil {
		if s.turns = recentTurns; c.RecentTurns != nil {
			s.turns = *c.RecentTurns
		}
		if c.Mode != "normalized" && c.Mode != "" {
			return s, fmt.Errorf("%sparentContext.mode %.40q: there is only normalized", at, c.Mode)
		}
		if s.turns < 1 || s.turns > maxRecentTurns {
			return s, fmt.Errorf("%sparentContext.recentTurns is %d; the limit is 1 to %d", at, s.turns, maxRecentTurns)
		}
	}
	if given(a.OutputSchema) {
		var err error
		if s.schema, err = compile(a.OutputSchema); err != nil {
			return s, fmt.Errorf("%soutputSchema: %w", at, err)
		}
		s.shape = string(a.OutputSchema)
	}
	return s, nil
}

// limits are what the step may use up under a profile.
func (s step) limits(p Profile) harness.Limits {
	return Combine(p.Limits, harness.Limits{Tokens: s.tokens})
}

func given(v json.RawMessage) bool { return len(v) > 0 && !bytes.Equal(v, []byte("null")) }
