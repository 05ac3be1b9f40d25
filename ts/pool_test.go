package ts

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"svc.dev/svc/internal/script"
)

// engines opens engines of an empty script, each when it may.
func engines(t *testing.T, size int, may func(ctx context.Context) error) *pool {
	t.Helper()
	prelude, err := script.CompilePrelude()
	if err != nil {
		t.Fatal(err)
	}
	main, err := script.CompileMain("")
	if err != nil {
		t.Fatal(err)
	}
	p := newPool("tested", size, func(ctx context.Context, turned func(time.Duration)) (*script.Engine, error) {
		if err := may(ctx); err != nil {
			return nil, err
		}
		return script.New(ctx, script.Config{Prelude: prelude, Main: main, Turned: turned})
	}, slog.New(slog.DiscardHandler))
	t.Cleanup(p.close)
	return p
}

// begun is an act that a pool must have an engine for.
func begun(t *testing.T, p *pool) *script.Act {
	t.Helper()
	act, err := p.begin(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return act
}

// lose ends an engine, and lets it be stuck until the function that it returns is called.
func lose(e *script.Engine) (end func()) {
	held := make(chan struct{})
	e.Go(nil, func(context.Context) { <-held })
	e.Close()
	return func() { close(held) }
}

// TestAnEngineOnItsWayKeepsNobodyFromAnother: while one starts, or when it does not, an engine that has room is given the act.
func TestAnEngineOnItsWayKeepsNobodyFromAnother(t *testing.T) {
	starts := make(chan error)
	p := engines(t, 2, func(ctx context.Context) error {
		select {
		case err := <-starts:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	ctx, leave := context.WithCancel(t.Context())
	waits := make(chan error, 1)
	go func() { _, err := p.begin(ctx, nil); waits <- err }()
	leave()
	if err := <-waits; !errors.Is(err, context.Canceled) || !unavailable(err) {
		t.Errorf("who waits for the first, and leaves, hears %v", err)
	}
	go func() { starts <- nil }()
	first := begun(t, p)
	if second := begun(t, p); second.Engine != first.Engine {
		t.Error("an engine has started that was not let")
	}
	starts <- errors.New("no")
	if third := begun(t, p); third.Engine != first.Engine {
		t.Error("an engine that did not start has an act")
	}
}

// TestAnEngineWithRoomIsUsedWhereNoneMayStart: as many as there are places have been replaced, and have not ended.
func TestAnEngineWithRoomIsUsedWhereNoneMayStart(t *testing.T) {
	p := engines(t, 2, func(context.Context) error { return nil })
	var ends []func()
	for range 2 {
		ends = append(ends, lose(begun(t, p).Engine))
	}
	busy := begun(t, p)
	for range 3 {
		if act := begun(t, p); act.Engine != busy.Engine {
			t.Error("one more engine was started")
		}
	}
	for _, end := range ends {
		end()
	}
}

// TestWhoWaitsForRoomHearsOfAnEngineThatHasEnded: where it was in the way of the next.
func TestWhoWaitsForRoomHearsOfAnEngineThatHasEnded(t *testing.T) {
	p := engines(t, 1, func(context.Context) error { return nil })
	endFirst := lose(begun(t, p).Engine)
	endSecond := lose(begun(t, p).Engine)
	defer endSecond()
	if _, err := p.begin(t.Context(), nil); !errors.Is(err, script.ErrFull) {
		t.Fatalf("with two that are stuck: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	freed := p.nextFreed()
	endFirst()
	select {
	case <-freed:
	case <-ctx.Done():
		t.Fatal("nobody was woken")
	}
	if _, err := p.beginWhenFree(ctx, nil); err != nil {
		t.Errorf("there is no room: %v", err)
	}
}
