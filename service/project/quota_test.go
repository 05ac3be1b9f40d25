package project_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/project"
)

// stream is a body whose length nobody knows.
type stream struct{ io.Reader }

func (s *scene) send(path string, body io.Reader, size int64) error {
	_, _, err := s.Write(s.t.Context(), ada, shop, "site", path, project.Upload{Body: body, Size: size})
	return err
}

// TestParallelWritersNeverPassTheLimit sends 100 files of one byte where there is room for 50, from two nodes where there
// can be two.
func TestParallelWritersNeverPassTheLimit(t *testing.T) {
	const limit = 1000
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		a := start(t, address, project.Config{Limit: limit})
		b := a
		if a.db.Dialect() == sqldb.Postgres {
			b = start(t, address, project.Config{Limit: limit, Root: a.Root})
		}
		a.create("site")
		a.write("site", "much", strings.Repeat("x", limit-50))
		sizes := []int64{1, project.Unknown}
		if a != b {
			sizes = sizes[:1]
		}
		for round, size := range sizes {
			var passed atomic.Int64
			var all sync.WaitGroup
			for i := range 100 {
				all.Go(func() {
					node := []*scene{a, b}[i%2]
					err := node.send(fmt.Sprint("f", i), stream{strings.NewReader("x")}, size)
					if err == nil {
						passed.Add(1)
						return
					}
					f := refused(t, err, project.StorageQuotaExceeded)
					if f.Meta["limitBytes"] != int64(limit) || f.Meta["requestedBytes"] != int64(1) {
						t.Errorf("meta %v", f.Meta)
					}
				})
			}
			all.Wait()
			got := a.storage()
			if passed.Load() != 50 || got.UsedBytes != limit || got.ReservedBytes != 0 || got.State != project.StateOver {
				t.Errorf("round %d: %d passed, stored %+v", round, passed.Load(), got)
			}
			a.agree()
			for _, path := range b.walk(project.FileQuery{Prefix: "f"}) {
				must(t, b.Remove(t.Context(), ada, shop, "site", path, project.Condition{}))
			}
			if got := b.storage(); got.UsedBytes != limit-50 {
				t.Errorf("deleting left %+v", got)
			}
		}
	})
}

// TestParallelReplacementsNeverPassTheLimit makes the same few files larger and smaller at once: each is credited with what
// it replaces, which others may have changed.
func TestParallelReplacementsNeverPassTheLimit(t *testing.T) {
	const limit = 1000
	each(t, project.Config{Limit: limit}, func(t *testing.T, s *scene) {
		s.create("site")
		for i := range 4 {
			s.write("site", fmt.Sprint("f", i), strings.Repeat("x", 240))
		}
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				for n := range 6 {
					path := fmt.Sprint("f", (i+n)%4)
					var err error
					if i%5 == 4 {
						err = s.Remove(t.Context(), ada, shop, "site", path, project.Condition{})
					} else {
						err = s.send(path, strings.NewReader(strings.Repeat("y", (i*97+n*131)%600)), int64((i*97+n*131)%600))
					}
					if err != nil && !fault.Is(err, project.StorageQuotaExceeded) && !fault.Is(err, project.ItemNotFound) {
						t.Error(err)
					}
					if used := s.number("SELECT used + reserved FROM storage_quotas"); used > limit {
						t.Errorf("used %d", used)
					}
				}
			})
		}
		all.Wait()
		s.agree()
	})
}

func TestUnknownLengthIsReservedInSteps(t *testing.T) {
	const mib = 1 << 20
	s := one(t, project.Config{Limit: 20 * mib})
	s.create("site")
	var most int64
	body := &watched{Reader: io.LimitReader(zeros{}, 17*mib), see: func() {
		most = max(most, s.number("SELECT reserved FROM storage_quotas"))
	}}
	if err := s.send("big", body, project.Unknown); err != nil {
		t.Fatal(err)
	}
	if most != 20*mib {
		t.Errorf("reserved at most %d", most)
	}
	if got := s.storage(); got.UsedBytes != 17*mib || got.ReservedBytes != 0 {
		t.Errorf("stored %+v", got)
	}
	err := s.send("more", stream{io.LimitReader(zeros{}, 4*mib)}, project.Unknown)
	if f := refused(t, err, project.StorageQuotaExceeded); f.Meta["usedBytes"] != int64(17*mib) || f.Meta["requestedBytes"].(int64) < 3*mib {
		t.Errorf("meta %v", f.Meta)
	}
	if err := s.send("rest", stream{io.LimitReader(zeros{}, 3*mib)}, project.Unknown); err != nil {
		t.Errorf("what fits exactly: %v", err)
	}
	s.agree()
}

type zeros struct{}

func (zeros) Read(into []byte) (int, error) { clear(into); return len(into), nil }

// watched looks after every mebibyte.
type watched struct {
	io.Reader
	see  func()
	read int
}

func (w *watched) Read(into []byte) (int, error) {
	n, err := w.Reader.Read(into)
	if before := w.read >> 20; (w.read+n)>>20 != before {
		w.see()
	}
	w.read += n
	return n, err
}

func TestAFileHasAMostSize(t *testing.T) {
	s := one(t, project.Config{MaxFile: 100_000})
	s.create("site")
	for _, c := range []struct {
		bytes, size int64
		ok          bool
	}{
		{100_000, 100_000, true}, {100_001, 100_001, false}, {100_000, project.Unknown, true}, {100_001, project.Unknown, false},
		{10_000_000, project.Unknown, false}, {0, math.MaxInt64, false},
	} {
		err := s.send("f", stream{io.LimitReader(zeros{}, c.bytes)}, c.size)
		if c.ok && err != nil {
			t.Errorf("%+v: %v", c, err)
		}
		if !c.ok {
			if f := refused(t, err, fault.BodyTooLarge); f.Meta["limit"] != int64(100_000) {
				t.Errorf("meta %v", f.Meta)
			}
		}
	}
	if got := s.storage(); got.UsedBytes != 100_000 || got.ReservedBytes != 0 {
		t.Errorf("stored %+v", got)
	}
	s.agree()
}

func TestSizesThatLieOrOverflowAreRefused(t *testing.T) {
	each(t, project.Config{Limit: math.MaxInt64, MaxFile: math.MaxInt64}, func(t *testing.T, s *scene) {
		s.create("site")
		s.write("site", "f", "old")
		broken := io.MultiReader(strings.NewReader("half"), &failing{errors.New("connection reset by peer")})
		for name, c := range map[string]struct {
			body io.Reader
			size int64
			typ  string
		}{
			"shorter":            {strings.NewReader("four"), 5, fault.InvalidRequest},
			"empty":              {strings.NewReader(""), 1, fault.InvalidRequest},
			"longer":             {strings.NewReader("four"), 3, fault.InvalidRequest},
			"more than none":     {strings.NewReader("x"), 0, fault.InvalidRequest},
			"none of a body":     {nil, 1, fault.InvalidRequest},
			"negative":           {strings.NewReader("x"), -2, fault.InvalidRequest},
			"most negative":      {strings.NewReader("x"), math.MinInt64, fault.InvalidRequest},
			"overflowing":        {strings.NewReader("x"), math.MaxInt64, project.StorageQuotaExceeded},
			"nearly":             {strings.NewReader("x"), math.MaxInt64 - 2, fault.InvalidRequest},
			"broken off":         {broken, 100, fault.InvalidRequest},
			"broken off early":   {&failing{errors.New("connection reset by peer")}, project.Unknown, fault.InvalidRequest},
			"a fault of its own": {&failing{fault.New(fault.BodyTooLarge, "Too much.", "")}, 10, fault.BodyTooLarge},
		} {
			// Something else is reserved, so that the sum would overflow.
			s.exec("UPDATE storage_quotas SET reserved = 2")
			err := s.send("f", c.body, c.size)
			if name == "nearly" && err == nil {
				t.Error("nearly: written")
			}
			if !fault.Is(err, c.typ) {
				t.Errorf("%s: %v", name, err)
			}
			s.exec("UPDATE storage_quotas SET reserved = reserved - 2")
			if got := s.content("site", "f"); got != "old" {
				t.Errorf("%s: file is %q", name, got)
			}
			if got := s.storage(); got.UsedBytes != 3 || got.ReservedBytes != 0 {
				t.Errorf("%s: stored %+v", name, got)
			}
		}
		if err := s.send("empty", nil, 0); err != nil || s.content("site", "empty") != "" {
			t.Errorf("an empty file: %v", err)
		}
		s.agree()
	})
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

func TestReadsAndDeletesWorkOverTheLimit(t *testing.T) {
	each(t, project.Config{Limit: 100}, func(t *testing.T, s *scene) {
		s.create("site")
		s.write("site", "a", strings.Repeat("a", 60))
		s.write("site", "b", strings.Repeat("b", 30))
		if got := s.storage().State; got != project.StateWarning {
			t.Errorf("state %s", got)
		}
		if err := s.Admit(t.Context(), shop.Scope); err != nil {
			t.Error(err)
		}
		if err := s.SetLimit(t.Context(), ada, shop.Scope, 50); err != nil {
			t.Fatal(err)
		}
		if got := s.storage(); got.State != project.StateOver || got.LimitBytes != 50 || got.UsedBytes != 90 || got.SoftLimitPercent != 80 {
			t.Errorf("storage %+v", got)
		}
		refused(t, s.Admit(t.Context(), shop.Scope), project.StorageQuotaExceeded)
		_, _, err := s.put("site", "c", "c", project.Condition{})
		refused(t, err, project.StorageQuotaExceeded)
		_, _, err = s.put("site", "b", strings.Repeat("b", 31), project.Condition{})
		refused(t, err, project.StorageQuotaExceeded)
		if got := s.content("site", "a"); len(got) != 60 {
			t.Errorf("read %q", got)
		}
		s.write("site", "a", "a shorter one")
		if _, err := s.Move(t.Context(), ada, shop, "site", "a", "d", project.Condition{}); err != nil {
			t.Error(err)
		}
		if err := s.Remove(t.Context(), ada, shop, "site", "b", project.Condition{}); err != nil {
			t.Error(err)
		}
		if got := s.storage(); got.State != project.StateOK || got.UsedBytes != 13 {
			t.Errorf("storage %+v", got)
		}
		s.write("site", "c", "c")
		for limit, state := range map[int64]string{0: project.StateBlocked, -1: project.StateOK, 14: project.StateOver, 17: project.StateWarning, 18: project.StateOK, math.MaxInt64: project.StateOK} {
			if err := s.SetLimit(t.Context(), ada, shop.Scope, limit); err != nil || s.storage().State != state {
				t.Errorf("limit %d: %v, %s", limit, err, s.storage().State)
			}
		}
		s.agree()
	})
}

func TestWhatIsStoredElsewhereCounts(t *testing.T) {
	var attachments atomic.Int64
	c := project.Config{Limit: 100, Measure: func(_ context.Context, scope string) (int64, int64, error) {
		if scope != shop.Scope {
			return 0, 0, nil
		}
		return attachments.Load(), 20, nil
	}}
	each(t, c, func(t *testing.T, s *scene) {
		attachments.Store(10)
		s.create("site")
		s.write("site", "a", strings.Repeat("a", 70))
		got := s.storage()
		if got.UsedBytes != 100 || got.ByKind != (project.Kinds{Projects: 70, Attachments: 10, Streams: 20}) || !got.MeasuredAt.Equal(s.clock.Now()) {
			t.Errorf("storage %+v", got)
		}
		_, _, err := s.put("site", "b", "b", project.Condition{})
		if f := refused(t, err, project.StorageQuotaExceeded); f.Meta["usedBytes"] != int64(100) {
			t.Errorf("meta %v", f.Meta)
		}
		attachments.Store(5)
		project.Remeasure(s.Projects)
		s.write("site", "b", "b")
		page, err := s.AllStorage(t.Context(), listing.Query{Q: "SHOP"})
		if err != nil || len(page.Items) != 1 || page.Items[0].Scope != shop.Scope || page.Items[0].UsedBytes != 96 {
			t.Errorf("all %+v, %v", page, err)
		}
		s.agree()
	})
}

func TestAReservationThatNobodyRenewsExpires(t *testing.T) {
	each(t, project.Config{Limit: 100}, func(t *testing.T, s *scene) {
		s.create("site")
		read, write := io.Pipe()
		done := make(chan error)
		go func() { done <- s.send("slow", read, 90) }()
		if _, err := write.Write([]byte("slow")); err != nil {
			t.Fatal(err)
		}
		if got := s.storage(); got.ReservedBytes != 90 {
			t.Errorf("reserved %+v", got)
		}
		_, _, err := s.put("site", "quick", strings.Repeat("q", 50), project.Condition{})
		refused(t, err, project.StorageQuotaExceeded)
		s.clock.Advance(15*time.Minute + time.Second)
		// Whoever needs the room takes it back; no sweeper is waited for.
		s.write("site", "quick", strings.Repeat("q", 50))
		if n, err := s.Sweep(t.Context(), s.clock.Now()); n != 1 || err != nil {
			t.Errorf("swept %d, %v", n, err)
		}
		go func() {
			_, _ = write.Write(bytes.Repeat([]byte("s"), 86))
			write.Close()
		}()
		refused(t, <-done, project.RuntimeTimeout)
		if got := s.content("site", "slow"); got != project.ItemNotFound {
			t.Errorf("read %q", got)
		}
		if got := s.storage(); got.UsedBytes != 50 || got.ReservedBytes != 0 {
			t.Errorf("stored %+v", got)
		}
		s.agree()
	})
}

func TestWhoeverLeavesAnUploadLeavesNothing(t *testing.T) {
	s := one(t, project.Config{})
	s.create("site")
	ctx, leave := context.WithCancel(t.Context())
	body := io.MultiReader(strings.NewReader("begun"), &calls{leave})
	_, _, err := s.Write(ctx, ada, shop, "site", "a", project.Upload{Body: body, Size: 1000})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if got := s.storage(); got.ReservedBytes != 0 {
		t.Errorf("reserved %+v", got)
	}
	s.agree()
}

// calls leaves while it is read.
type calls struct{ leave func() }

func (c *calls) Read(into []byte) (int, error) {
	c.leave()
	into[0] = 'x'
	return 1, nil
}

func TestRecountRepairsAndReports(t *testing.T) {
	each(t, project.Config{}, func(t *testing.T, s *scene) {
		s.create("site")
		for _, path := range []string{"same", "changed", "touched", "gone", "d/e"} {
			s.write("site", path, path)
		}
		s.agree()
		at := func(path string) string { return filepath.Join(s.folder("site"), path) }
		must(t, os.WriteFile(at("changed"), []byte("CHANGED!"), 0o600))
		must(t, os.Chtimes(at("touched"), time.Now(), time.Now()))
		must(t, os.Remove(at("gone")))
		must(t, os.WriteFile(at("new"), []byte("new"), 0o600))
		must(t, os.Mkdir(at(".svc-tmp-orphan"), 0o700))
		must(t, os.WriteFile(at(".svc-tmp-orphan/0"), []byte("half"), 0o600))
		must(t, os.Symlink("same", at("link")))
		must(t, os.WriteFile(at("bad\xff"), nil, 0o600))
		s.exec("UPDATE storage_quotas SET used = used + 7, reserved = 5")
		s.exec("UPDATE projects SET files = 99")
		d, err := s.Recount(t.Context(), shop.Scope)
		if err != nil {
			t.Fatal(err)
		}
		want := project.Drift{Projects: 1, Files: 6, Adopted: 1, Dropped: 1, Changed: 2, Temps: 1, Strays: d.Strays, UsedBytes: 7, ReservedBytes: 5, Counters: 1}
		if fmt.Sprintf("%+v", d) != fmt.Sprintf("%+v", want) || len(d.Strays) != 2 {
			t.Errorf("got %+v, want %+v", d, want)
		}
		if s.content("site", "changed") != "CHANGED!" || s.content("site", "new") != "new" || s.content("site", "gone") != project.ItemNotFound {
			t.Error("not repaired")
		}
		must(t, os.Remove(at("link")))
		must(t, os.Remove(at("bad\xff")))
		s.agree()
		seen := 0
		err = s.RecountAll(t.Context(), func(_ string, d project.Drift, err error) {
			if seen++; err != nil || !d.None() {
				t.Errorf("drift %+v, %v", d, err)
			}
		})
		if err != nil || seen != 1 {
			t.Errorf("%d scopes, %v", seen, err)
		}
	})
}

func TestAFileThatSomebodyElseChangedIsReadAsItIs(t *testing.T) {
	s := one(t, project.Config{})
	s.create("site")
	f := s.write("site", "a", "before")
	s.clock.Advance(time.Minute)
	must(t, os.WriteFile(filepath.Join(s.folder("site"), "a"), []byte("after it"), 0o600))
	if got := s.content("site", "a"); got != "after it" {
		t.Errorf("read %q", got)
	}
	is, err := s.Stat(t.Context(), shop, "site", "a")
	if err != nil || is.ETag == f.ETag || is.Bytes != 8 {
		t.Errorf("is %+v, %v", is, err)
	}
	s.clock.Advance(time.Minute)
	must(t, os.Remove(filepath.Join(s.folder("site"), "a")))
	if got := s.content("site", "a"); got != project.ItemNotFound {
		t.Errorf("read %q", got)
	}
	s.agree()
}

// TestAFileThatWasJustWrittenIsBelievedToBeThere takes a file away that a slow disk may not show yet: the index stays.
func TestAFileThatWasJustWrittenIsBelievedToBeThere(t *testing.T) {
	s := one(t, project.Config{})
	s.create("site")
	s.write("site", "a", "text")
	at := filepath.Join(s.folder("site"), "a")
	must(t, os.Rename(at, at+"-hidden"))
	if got := s.content("site", "a"); got != project.Busy {
		t.Errorf("read %q", got)
	}
	must(t, os.Rename(at+"-hidden", at))
	if got := s.content("site", "a"); got != "text" {
		t.Errorf("read %q", got)
	}
	s.agree()
}

func TestAProjectHasAMostNumberOfFiles(t *testing.T) {
	s := one(t, project.Config{MaxFiles: 3})
	s.create("site")
	for i := range 3 {
		s.write("site", fmt.Sprint(i), "")
	}
	_, _, err := s.put("site", "3", "", project.Condition{})
	refused(t, err, fault.InvalidRequest)
	s.write("site", "2", "again")
	s.agree()
}

// TestALimitBelowWhatIsPeekedHolds sends a body of unknown length that is read whole before anything is reserved.
func TestALimitBelowWhatIsPeekedHolds(t *testing.T) {
	s := one(t, project.Config{MaxFile: 1000})
	s.create("site")
	refused(t, s.send("f", stream{io.LimitReader(zeros{}, 1001)}, project.Unknown), fault.BodyTooLarge)
	if err := s.send("f", stream{io.LimitReader(zeros{}, 1000)}, project.Unknown); err != nil {
		t.Error(err)
	}
}

func TestAGaugeRefusesNewWorkAndWritesNothingWithoutNews(t *testing.T) {
	each(t, project.Config{}, func(t *testing.T, s *scene) {
		streams := int64(0)
		g := project.NewGauge(s.db, 100, func(context.Context, string) (int64, int64, error) { return 10, streams, nil })
		for _, scope := range []string{shop.Scope, bakery.Scope, "admin"} {
			if err := g.Admit(t.Context(), scope); err != nil {
				t.Error(err)
			}
		}
		if all, err := s.AllStorage(t.Context(), listing.Query{}); err != nil || len(all.Items) != 0 {
			t.Errorf("%+v %v", all, err)
		}
		s.create("site")
		s.write("site", "a", strings.Repeat("x", 89))
		if err := g.Admit(t.Context(), shop.Scope); err != nil {
			t.Error(err)
		}
		s.write("site", "b", "x")
		f := refused(t, g.Admit(t.Context(), shop.Scope), project.StorageQuotaExceeded)
		if f.Meta["limitBytes"] != int64(100) || f.Meta["usedBytes"] != int64(100) {
			t.Errorf("meta %v", f.Meta)
		}
		if err := g.Admit(t.Context(), bakery.Scope); err != nil {
			t.Error(err)
		}
	})
}
