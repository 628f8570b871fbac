package fs

import (
	"bytes"
	"context"
	"time"
)

// Secret is a value that is written and never read, by root neither: its size
// is 0, and it says only when it was set. It is committed as a [Value] is,
// whole, without one newline at its end.
type Secret struct {
	Mode FileMode // 0: 0200
	// Set keeps the secret. It may keep data. Nil: the file takes nothing.
	Set func(ctx context.Context, who *Identity, data []byte) error
	// Time gives when the secret was set; nil: unknown.
	Time func(ctx context.Context) (time.Time, error)
	Max  int // bytes; 0: 1 MiB
}

var (
	_ Opener   = (*Secret)(nil)
	_ Replacer = (*Secret)(nil)
)

// Stat describes the file and nothing of its content.
func (s *Secret) Stat(ctx context.Context) (Info, error) {
	info := Info{Mode: modeOr(s.Mode, 0o200)}
	if s.Time == nil {
		return info, nil
	}
	var err error
	info.MTime, err = s.Time(ctx)
	info.Version = version(nil, info.MTime)
	return info, err
}

// Open opens the secret for writing, from nothing.
func (s *Secret) Open(ctx context.Context, who *Identity, how Flags) (Handle, error) {
	if how&Read != 0 {
		return nil, Errorf(Permission, "a secret is not read")
	}
	return s.value().Open(ctx, who, how|Truncate)
}

// Replace sets the secret to data.
func (s *Secret) Replace(ctx context.Context, who *Identity, data []byte) error {
	return s.value().Replace(ctx, who, data)
}

func (s *Secret) value() *Value {
	v := &Value{Mode: modeOr(s.Mode, 0o200), Max: s.Max}
	if s.Set != nil {
		v.Set = func(ctx context.Context, who *Identity, data []byte) error {
			return s.Set(ctx, who, bytes.TrimSuffix(data, []byte("\n")))
		}
	}
	return v
}
