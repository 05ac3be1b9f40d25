package storage_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/project"
	"svc.dev/svc/service/project/projecttest"
	"svc.dev/svc/service/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sqldbtest.ReusingTests{M: m}) }

// TestParallelWritersNeverPassTheLimit sends 100 files of one byte where there is room for 50, from two nodes where there
// can be two.
func TestParallelWritersNeverPassTheLimit(t *testing.T) {
	const limit = 1000
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		a := projecttest.Start(t, address, projecttest.Config{Limit: limit})
		b := a
		if a.DB.Dialect() == sqldb.Postgres {
			b = projecttest.Start(t, address, projecttest.Config{Limit: limit, Root: a.Root})
		}
		a.Make("site")
		a.Save("site", "much", strings.Repeat("x", limit-50))
		sizes := []int64{1, project.Unknown}
		if a != b {
			sizes = sizes[:1]
		}
		for round, size := range sizes {
			var passed atomic.Int64
			var all sync.WaitGroup
			for i := range 100 {
				all.Go(func() {
					node := []*projecttest.Scene{a, b}[i%2]
					err := node.Send(fmt.Sprint("f", i), projecttest.Stream{Reader: strings.NewReader("x")}, size)
					if err == nil {
						passed.Add(1)
						return
					}
					f := projecttest.Refused(t, err, fault.StorageQuotaExceeded)
					if f.Meta["limitBytes"] != int64(limit) || f.Meta["requestedBytes"] != int64(1) {
						t.Errorf("meta %v", f.Meta)
					}
				})
			}
			all.Wait()
			got := a.Stored()
			if passed.Load() != 50 || got.UsedBytes != limit || got.ReservedBytes != 0 || got.State != storage.StateOver {
				t.Errorf("round %d: %d passed, stored %+v", round, passed.Load(), got)
			}
			a.Agree()
			for _, path := range b.Walk(project.FileQuery{Prefix: "f"}) {
				projecttest.Must(t, b.Remove(t.Context(), projecttest.Ada, projecttest.Shop, "site", path, project.Condition{}))
			}
			if got := b.Stored(); got.UsedBytes != limit-50 {
				t.Errorf("deleting left %+v", got)
			}
		}
	})
}

// TestParallelReplacementsNeverPassTheLimit makes the same few files larger and smaller at once: each is credited with what
// it replaces, which others may have changed.
func TestParallelReplacementsNeverPassTheLimit(t *testing.T) {
	const limit = 1000
	projecttest.Each(t, projecttest.Config{Limit: limit}, func(t *testing.T, s *projecttest.Scene) {
		s.Make("site")
		for i := range 4 {
			s.Save("site", fmt.Sprint("f", i), strings.Repeat("x", 240))
		}
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				for n := range 6 {
					path := fmt.Sprint("f", (i+n)%4)
					var err error
					if i%5 == 4 {
						err = s.Remove(t.Context(), projecttest.Ada, projecttest.Shop, "site", path, project.Condition{})
					} else {
						err = s.Send(path, strings.NewReader(strings.Repeat("y", (i*97+n*131)%600)), int64((i*97+n*131)%600))
					}
					if err != nil && !fault.Is(err, fault.StorageQuotaExceeded) && !fault.Is(err, fault.ItemNotFound) {
						t.Error(err)
					}
					if used := s.Number("SELECT used + reserved FROM storage_quotas"); used > limit {
						t.Errorf("used %d", used)
					}
				}
			})
		}
		all.Wait()
		s.Agree()
	})
}

// TestWritersOfOneWorkspaceLeaveConnectionsToOthers holds the row of a workspace that many want, and writes in another.
func TestWritersOfOneWorkspaceLeaveConnectionsToOthers(t *testing.T) {
	node := projecttest.Start(t, sqldbtest.FewConnections(sqldbtest.Schema(t)), projecttest.Config{})
	lock := func(scope string, do func()) {
		err := node.Quotas.Lock(t.Context(), scope, func(*sqldb.Tx, *storage.Quota) error { do(); return nil })
		if err != nil {
			t.Errorf("%s: %v", scope, err)
		}
	}
	held, release := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() { lock("ada/shop", func() { close(held); <-release }) })
	<-held
	for range 20 {
		all.Go(func() { lock("ada/shop", func() {}) })
	}
	all.Go(func() {
		defer close(release)
		for range 50 {
			lock("bob/shop", func() {})
		}
	})
	all.Wait()
}

func TestReadsAndDeletesWorkOverTheLimit(t *testing.T) {
	projecttest.Each(t, projecttest.Config{Limit: 100}, func(t *testing.T, s *projecttest.Scene) {
		s.Make("site")
		s.Save("site", "a", strings.Repeat("a", 60))
		s.Save("site", "b", strings.Repeat("b", 30))
		if got := s.Stored().State; got != storage.StateWarning {
			t.Errorf("state %s", got)
		}
		if err := s.Quotas.Admit(t.Context(), projecttest.Shop.Scope); err != nil {
			t.Error(err)
		}
		if err := s.Quotas.SetLimit(t.Context(), projecttest.Ada, projecttest.Shop.Scope, 50); err != nil {
			t.Fatal(err)
		}
		if got := s.Stored(); got.State != storage.StateOver || got.LimitBytes != 50 || got.UsedBytes != 90 || got.SoftLimitPercent != 80 {
			t.Errorf("storage %+v", got)
		}
		projecttest.Refused(t, s.Quotas.Admit(t.Context(), projecttest.Shop.Scope), fault.StorageQuotaExceeded)
		_, _, err := s.Put("site", "c", "c", project.Condition{})
		projecttest.Refused(t, err, fault.StorageQuotaExceeded)
		_, _, err = s.Put("site", "b", strings.Repeat("b", 31), project.Condition{})
		projecttest.Refused(t, err, fault.StorageQuotaExceeded)
		if got := s.Content("site", "a"); len(got) != 60 {
			t.Errorf("read %q", got)
		}
		s.Save("site", "a", "a shorter one")
		if _, err := s.Move(t.Context(), projecttest.Ada, projecttest.Shop, "site", "a", "d", project.Condition{}); err != nil {
			t.Error(err)
		}
		if err := s.Remove(t.Context(), projecttest.Ada, projecttest.Shop, "site", "b", project.Condition{}); err != nil {
			t.Error(err)
		}
		if got := s.Stored(); got.State != storage.StateOK || got.UsedBytes != 13 {
			t.Errorf("storage %+v", got)
		}
		s.Save("site", "c", "c")
		for limit, state := range map[int64]string{0: storage.StateBlocked, -1: storage.StateOK, 14: storage.StateOver, 17: storage.StateWarning, 18: storage.StateOK, math.MaxInt64: storage.StateOK} {
			if err := s.Quotas.SetLimit(t.Context(), projecttest.Ada, projecttest.Shop.Scope, limit); err != nil || s.Stored().State != state {
				t.Errorf("limit %d: %v, %s", limit, err, s.Stored().State)
			}
		}
		s.Agree()
	})
}

func TestWhatIsStoredElsewhereCounts(t *testing.T) {
	var attachments atomic.Int64
	c := projecttest.Config{Limit: 100, Measure: func(_ context.Context, scope string) (int64, int64, error) {
		if scope != projecttest.Shop.Scope {
			return 0, 0, nil
		}
		return attachments.Load(), 20, nil
	}}
	projecttest.Each(t, c, func(t *testing.T, s *projecttest.Scene) {
		attachments.Store(10)
		s.Make("site")
		s.Save("site", "a", strings.Repeat("a", 70))
		got := s.Stored()
		if got.UsedBytes != 100 || got.ByKind != (storage.Kinds{Projects: 70, Attachments: 10, Streams: 20}) || !got.MeasuredAt.Equal(s.Clock.Now()) {
			t.Errorf("storage %+v", got)
		}
		_, _, err := s.Put("site", "b", "b", project.Condition{})
		if f := projecttest.Refused(t, err, fault.StorageQuotaExceeded); f.Meta["usedBytes"] != int64(100) {
			t.Errorf("meta %v", f.Meta)
		}
		attachments.Store(5)
		storage.Remeasure(s.Quotas)
		s.Save("site", "b", "b")
		page, err := s.Quotas.All(t.Context(), listing.Query{Q: "SHOP"})
		if err != nil || len(page.Items) != 1 || page.Items[0].Scope != projecttest.Shop.Scope || page.Items[0].UsedBytes != 96 {
			t.Errorf("all %+v, %v", page, err)
		}
		s.Agree()
	})
}

func TestAReservationThatNobodyRenewsExpires(t *testing.T) {
	projecttest.Each(t, projecttest.Config{Limit: 100}, func(t *testing.T, s *projecttest.Scene) {
		s.Make("site")
		read, write := io.Pipe()
		asked := make(chan struct{}, 90)
		done := make(chan error)
		go func() {
			done <- s.Send("slow", reader(func(into []byte) (int, error) { asked <- struct{}{}; return read.Read(into) }), 90)
		}()
		if _, err := write.Write([]byte("slow")); err != nil {
			t.Fatal(err)
		}
		<-asked
		<-asked // it waits for more, and renews nothing
		if got := s.Stored(); got.ReservedBytes != 90 {
			t.Errorf("reserved %+v", got)
		}
		_, _, err := s.Put("site", "quick", strings.Repeat("q", 50), project.Condition{})
		projecttest.Refused(t, err, fault.StorageQuotaExceeded)
		s.Clock.Advance(15*time.Minute + time.Second)
		// Whoever needs the room takes it back; no sweeper is waited for.
		s.Save("site", "quick", strings.Repeat("q", 50))
		if n, err := s.Sweep(t.Context(), s.Clock.Now()); n != 1 || err != nil {
			t.Errorf("swept %d, %v", n, err)
		}
		go func() {
			_, _ = write.Write(bytes.Repeat([]byte("s"), 86))
			write.Close()
		}()
		projecttest.Refused(t, <-done, fault.RuntimeTimeout)
		if got := s.Content("site", "slow"); got != fault.ItemNotFound {
			t.Errorf("read %q", got)
		}
		if got := s.Stored(); got.UsedBytes != 50 || got.ReservedBytes != 0 {
			t.Errorf("stored %+v", got)
		}
		s.Agree()
	})
}

type reader func([]byte) (int, error)

func (r reader) Read(into []byte) (int, error) { return r(into) }
