package harness

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mikan/wire"
)

func trouble(kind Trouble, after time.Duration) error {
	return &ModelError{Trouble: kind, RetryAfter: after, Text: "the server is busy"}
}

func TestRetryDelays(t *testing.T) {
	for name, tt := range map[string]struct {
		errs    []error
		want    time.Duration
		outcome wire.Outcome
		calls   int
	}{
		"twice":              {[]error{trouble(Transient, 0), trouble(RateLimit, 0)}, 6 * time.Second, wire.OK, 3},
		"the server's wish":  {[]error{trouble(RateLimit, 35*time.Second)}, 35 * time.Second, wire.OK, 2},
		"too long a wish":    {[]error{trouble(RateLimit, time.Hour)}, time.Minute, wire.OK, 2},
		"three times":        {[]error{trouble(Transient, 0), trouble(Transient, 0), trouble(Transient, 0)}, 6 * time.Second, wire.Failed, 3},
		"refused":            {[]error{trouble(Refused, 0)}, 0, wire.Failed, 1},
		"denied":             {[]error{trouble(Denied, 0)}, 0, wire.Failed, 1},
		"not a ModelError":   {[]error{errors.New("odd")}, 0, wire.Failed, 1},
		"overflow":           {[]error{trouble(Overflow, 0)}, 0, wire.Failed, 1},
		"transient, refused": {[]error{trouble(Transient, 0), trouble(Refused, 0)}, 2 * time.Second, wire.Failed, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var steps []step
				for _, err := range tt.errs {
					steps = append(steps, fails("half an ans", err))
				}
				b := newBench(nil, append(steps, says(text("answer")))...)
				start := time.Now()
				e := b.Do(context.Background())
				if got := time.Since(start); got != tt.want {
					t.Errorf("took %v, want %v", got, tt.want)
				}
				if e.Outcome != tt.outcome || e.Calls != tt.calls {
					t.Errorf("%+v", e)
				}
				if tt.outcome == wire.OK && e.Final[0].PlainText() != "answer" {
					t.Errorf("a failed attempt left something: %q", e.Final[0].PlainText())
				}
				if tt.outcome == wire.Failed && (e.Final[0].StopReason != wire.StopError || e.Final[0].PlainText() != "half an ans") {
					t.Errorf("final: %+v", e.Final)
				}
			})
		})
	}
}

func TestReadersAreToldOfEachRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(nil, fails("ha", trouble(Transient, 0)), fails("", trouble(Transient, 0)), fails("", trouble(Transient, 0)))
		b.Do(context.Background())
		var retries []int
		for _, e := range b.events {
			if e.Type == wire.AgentError {
				retries = append(retries, e.Retry)
			}
		}
		if d := cmp.Diff([]int{2, 3, 0}, retries); d != "" {
			t.Error(d)
		}
	})
}

func TestNothingIsRetriedAfterAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := stopping()
		b := newBench(nil, fails("", trouble(RateLimit, time.Minute)), says(text("never")))
		time.AfterFunc(10*time.Second, func() { stop(ErrStopped) })
		start := time.Now()
		e := b.Do(ctx)
		if e.Outcome != wire.Stopped || e.Calls != 1 || time.Since(start) != 10*time.Second {
			t.Errorf("%+v after %v", e, time.Since(start))
		}
	})
}

func TestASilentModelIsGivenUpButNotOneThatSendsAnything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := func(ctx context.Context, _ Request, emit func(Delta)) (wire.Message, error) {
			for range 3 {
				time.Sleep(4 * time.Minute)
				emit(Delta{}) // a piece of a tool call, say
			}
			<-ctx.Done()
			return wire.Message{}, ctx.Err()
		}
		b := newBench(nil, silent, says(text("ok")))
		start := time.Now()
		e := b.Do(context.Background())
		if got, want := time.Since(start), 12*time.Minute+idleLimit+baseDelay; got != want || e.Outcome != wire.OK {
			t.Errorf("%+v after %v, want %v", e, got, want)
		}
		if got := b.await(wire.AgentError).Error; got != "the model sent nothing for 5m0s" {
			t.Error(got)
		}
	})
}

func TestAnAttemptThatWasGivenUpCannotSpeakIntoTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := make(chan struct{})
		deaf := func(_ context.Context, _ Request, emit func(Delta)) (wire.Message, error) {
			emit(Delta{Text: "old"})
			<-next
			emit(Delta{Text: "too late"})
			return wire.Message{}, nil
		}
		b := newBench(nil, deaf, func(_ context.Context, _ Request, emit func(Delta)) (wire.Message, error) {
			close(next)
			synctest.Wait()
			emit(Delta{Text: "new"})
			return wire.Message{Content: []wire.Part{text("new")}}, nil
		})
		e := b.Do(context.Background())
		b.Wait()
		var deltas []string
		for _, e := range b.events {
			if e.Type == wire.Delta {
				deltas = append(deltas, e.Text)
			}
		}
		if d := cmp.Diff([]string{"old", "new"}, deltas); d != "" || e.Outcome != wire.OK {
			t.Errorf("%s %+v", d, e)
		}
	})
}

func TestAPanicOfAProviderIsAnError(t *testing.T) {
	b := newBench(nil, func(context.Context, Request, func(Delta)) (wire.Message, error) { panic("boom") })
	e := b.Do(context.Background())
	if e.Outcome != wire.Failed || e.Err.Error() != "the provider test failed inside: boom" {
		t.Errorf("%+v", e)
	}
}

// drip is a provider whose answers have no end.
type drip struct{ said int }

func (d *drip) Stream(ctx context.Context, _ Request, emit func(Delta)) (wire.Message, error) {
	for ctx.Err() == nil {
		emit(Delta{Text: "and on "})
		d.said += len("and on ")
	}
	return wire.Message{}, context.Cause(ctx)
}

func TestFault_Q3_answer_without_an_end_is_cut_off(t *testing.T) {
	b := newBench(nil)
	p := &drip{}
	b.Provider = p
	b.Model.MaxTokens = 10
	b.Emit = nil
	e := b.Do(context.Background())
	b.Wait()
	if e.Outcome != wire.Failed || e.Err == nil || !strings.Contains(e.Err.Error(), "does not end") {
		t.Fatalf("%s, %v", e.Outcome, e.Err)
	}
	if p.said > 16<<20 || len(e.Final) != 1 || len(e.Final[0].PlainText()) > 2<<20 {
		t.Errorf("%d bytes were taken", p.said)
	}
}
