package wire

import (
	"fmt"
	"slices"
	"strings"
)

// Caps is what an adapter can do, as it writes it to caps.
type Caps struct {
	Ops     []string `json:"ops,omitempty"`     // the operations it knows; none: not said
	Keys    bool     `json:"keys,omitempty"`    // history tells by its key whether an operation was done
	MaxText int      `json:"maxText,omitempty"` // characters of a message; the adapter splits longer ones
	Trust   Trust    `json:"trust,omitempty"`
	Direct  bool     `json:"direct,omitempty"` // there are direct conversations
}

// Trust says whose messages come in.
type Trust string

// The trust of a platform.
const (
	Membership  Trust = "membership"   // of those whom somebody has let in; so if nothing is said
	OpenTrigger Trust = "open-trigger" // of anyone
)

// ParseCaps reads caps. An unknown key or operation is an error.
func ParseCaps(data []byte) (Caps, error) {
	var c Caps
	if err := DecodeJSON("caps", data, &c); err != nil {
		return c, err
	}
	return c, c.Check()
}

// Check reports what is wrong with c.
func (c Caps) Check() error {
	for _, name := range c.Ops {
		if _, ok := FindOp(name); !ok {
			names := OpNames()
			return fmt.Errorf("caps: ops: unknown operation %.64q%s; the operations are %s", name, DidYouMean(name, names), strings.Join(names, ", "))
		}
	}
	switch {
	case c.MaxText < 0:
		return fmt.Errorf("caps: maxText: %d is less than nothing", c.MaxText)
	case c.Trust != "" && c.Trust != Membership && c.Trust != OpenTrigger:
		return fmt.Errorf("caps: trust: %q: want %s or %s", c.Trust, Membership, OpenTrigger)
	}
	return nil
}

// Has reports whether an adapter knows an operation, as far as it has said.
func (c Caps) Has(op string) bool { return len(c.Ops) == 0 || slices.Contains(c.Ops, op) }

// ReadsBack reports whether history can tell what became of an operation whose
// answer never came.
func (c Caps) ReadsBack() bool { return c.Keys && c.Has("history") }
