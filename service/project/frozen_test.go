package project_test

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/project"
	"svc.dev/svc/service/project/projecttest"
	"svc.dev/svc/service/storage"
)

// beside is another node on the same files; where the database has one handle, they share it.
func beside(t *testing.T, s *projecttest.Scene, address string) *projecttest.Scene {
	t.Helper()
	if s.DB.Dialect() == sqldb.Postgres {
		return projecttest.Start(t, address, projecttest.Config{Root: s.Root, Patience: s.Patience})
	}
	other := &projecttest.Scene{T: t, Clock: projecttest.NewClock(s.Clock.Now())}
	quotas, c := s.Quotas.Config, s.Config
	quotas.Now, c.Now = other.Clock.Now, other.Clock.Now
	var err error
	c.Quotas, err = storage.New(quotas)
	projecttest.Must(t, err)
	other.Projects, err = project.New(c)
	projecttest.Must(t, err)
	t.Cleanup(func() { other.Close() })
	return other
}

// takes is what takes its time in a scene. Nothing is waited for.
func takes(d time.Duration) { time.Sleep(d) }

// freeze runs do and stops it at a stage; thaw lets it go on and gives what it returned.
func freeze(s *projecttest.Scene, stage string, do func() error) (thaw func() error) {
	at, gone, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var once sync.Once
	s.Step = func(now string) {
		if now == stage {
			once.Do(func() { close(at); <-gone })
		}
	}
	go func() { done <- do() }()
	<-at
	return func() error { close(gone); return <-done }
}

// TestAFrozenNodeDoesNoHarmWhenItWakes stops a node in the midst of a change for so long that another completes or forgets
// it and goes on, and then lets it go on too.
func TestAFrozenNodeDoesNoHarmWhenItWakes(t *testing.T) {
	acts := map[string]func(s *projecttest.Scene) error{
		"write": func(s *projecttest.Scene) error {
			_, _, err := s.Put("site", "d/f", "frozen", project.Condition{})
			return err
		},
		"move": func(s *projecttest.Scene) error {
			_, err := s.Move(s.T.Context(), projecttest.Ada, projecttest.Shop, "site", "d/f", "e/g", project.Condition{})
			return err
		},
		"delete": func(s *projecttest.Scene) error {
			return s.Remove(s.T.Context(), projecttest.Ada, projecttest.Shop, "site", "d/f", project.Condition{})
		},
	}
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		a := projecttest.Start(t, address, projecttest.Config{})
		b := beside(t, a, address)
		a.Make("site")
		for name, act := range acts {
			for _, stage := range []string{"announced", "performed"} {
				t.Run(name+" "+stage, func(t *testing.T) {
					for _, path := range []string{"d/f", "e/g"} {
						_ = a.Remove(t.Context(), projecttest.Ada, projecttest.Shop, "site", path, project.Condition{})
					}
					a.Save("site", "d/f", "before")
					thaw := freeze(a, stage, func() error { return act(a) })
					a.Patience = 2 * time.Millisecond // it has been frozen for longer
					takes(2 * time.Millisecond)
					b.Clock.Advance(time.Minute)
					b.Save("site", "d/f", "after it")
					err := thaw()
					a.Patience = b.Patience
					if stage == "performed" && err != nil {
						t.Errorf("what had happened failed: %v", err)
					}
					if stage == "announced" && err == nil && name != "delete" {
						t.Error("what others forgot succeeded")
					}
					if err != nil && !fault.Is(err, fault.Busy) {
						t.Error(err)
					}
					if got := b.Content("site", "d/f"); got != "after it" {
						t.Errorf("read %q", got)
					}
					if moved := b.Content("site", "e/g"); (moved == "before") != (name == "move" && stage == "performed") {
						t.Errorf("moved %q", moved)
					}
					b.Agree()
				})
			}
		}
	})
}

// TestReadersSeeOneVersion replaces files by others of the same size as fast as it can; what is read is always what its etag
// says.
func TestReadersSeeOneVersion(t *testing.T) {
	projecttest.Each(t, projecttest.Config{}, func(t *testing.T, s *projecttest.Scene) {
		s.Make("site")
		s.Save("site", "f", strings.Repeat("0", 4096))
		stop := make(chan struct{})
		var writers, readers sync.WaitGroup
		for i := range 2 {
			writers.Go(func() {
				for n := range 20 {
					s.Save("site", "f", strings.Repeat(string(rune('a'+(i*13+n)%26)), 4096))
				}
			})
		}
		for range 3 {
			readers.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					c, err := s.Open(t.Context(), projecttest.Shop, "site", "f")
					if err != nil {
						t.Error(err)
						return
					}
					text, err := io.ReadAll(c)
					c.Close()
					if err != nil || sumOf(text) != c.ETag || len(text) != 4096 {
						t.Errorf("read %d bytes that are not of their etag, %v", len(text), err)
						return
					}
				}
			})
		}
		writers.Wait()
		close(stop)
		readers.Wait()
		s.Agree()
	})
}

// TestAReaderDoesNotWaitForWhoDied reads while a change is on record that nobody completes.
func TestAReaderDoesNotWaitForWhoDied(t *testing.T) {
	for _, stage := range []string{"announced", "performed"} {
		t.Run(stage, func(t *testing.T) {
			s := projecttest.One(t, projecttest.Config{})
			b := beside(t, s, "")
			s.Make("site")
			s.Save("site", "f", "old")
			thaw := freeze(s, stage, func() error { _, _, err := s.Put("site", "f", "new", project.Condition{}); return err })
			began := time.Now()
			want := map[string]string{"announced": "old", "performed": "new"}[stage]
			if got := b.Content("site", "f"); got != want {
				t.Errorf("read %q", got)
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("waited %s", took)
			}
			if err := thaw(); err != nil {
				t.Error(err)
			}
			if got := b.Content("site", "f"); got != "new" {
				t.Errorf("read %q", got)
			}
			s.Agree()
		})
	}
}

// TestTwoNodesShareFiles lets two nodes write the same and different files.
func TestTwoNodesShareFiles(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		a := projecttest.Start(t, address, projecttest.Config{})
		b := beside(t, a, address)
		a.Make("site")
		var all sync.WaitGroup
		for i, s := range []*projecttest.Scene{a, b, a, b} {
			all.Go(func() {
				for n := range 8 {
					s.Save("site", fmt.Sprint("own/", i, "/", n), "x")
					s.Save("site", fmt.Sprint("shared/", n), fmt.Sprint(i))
				}
			})
		}
		all.Wait()
		p, err := b.Get(t.Context(), projecttest.Shop, "site")
		if err != nil || p.FileCount != 40 || p.Bytes != 40 {
			t.Errorf("got %+v, %v", p, err)
		}
		a.Agree()
	})
}
