package storage_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/service/project/projecttest"
	"svc.dev/svc/service/storage"
)

func TestAGaugeRefusesNewWorkAndWritesNothingWithoutNews(t *testing.T) {
	projecttest.Each(t, projecttest.Config{}, func(t *testing.T, s *projecttest.Scene) {
		streams := int64(0)
		g := storage.NewGauge(s.DB, 100, func(context.Context, string) (int64, int64, error) { return 10, streams, nil })
		for _, scope := range []string{projecttest.Shop.Scope, projecttest.Bakery.Scope, "admin"} {
			if err := g.Admit(t.Context(), scope); err != nil {
				t.Error(err)
			}
		}
		if all, err := s.Quotas.All(t.Context(), listing.Query{}); err != nil || len(all.Items) != 0 {
			t.Errorf("%+v %v", all, err)
		}
		s.Make("site")
		s.Save("site", "a", strings.Repeat("x", 89))
		if err := g.Admit(t.Context(), projecttest.Shop.Scope); err != nil {
			t.Error(err)
		}
		s.Save("site", "b", "x")
		f := projecttest.Refused(t, g.Admit(t.Context(), projecttest.Shop.Scope), fault.StorageQuotaExceeded)
		if f.Meta["limitBytes"] != int64(100) || f.Meta["usedBytes"] != int64(100) {
			t.Errorf("meta %v", f.Meta)
		}
		if err := g.Admit(t.Context(), projecttest.Bakery.Scope); err != nil {
			t.Error(err)
		}
	})
}

func TestAdmittedWorkHasABoundedOverdraft(t *testing.T) {
	const mib = 1 << 20
	s := projecttest.One(t, projecttest.Config{})
	for _, c := range []struct {
		limit, stored int64
		goesOn        bool
	}{
		{1000, 999, true}, {1000, 1000, true}, {1000, 1010, true}, {1000, 1011, false}, {50, 50, true}, {50, 51, false}, {0, 1, false},
		{6400 * mib, 6464 * mib, true}, {6400 * mib, 6464*mib + 1, false}, {1 << 40, 1<<40 + 64*mib, true}, {1 << 40, 1<<40 + 64*mib + 1, false},
		{math.MaxInt64, math.MaxInt64, true},
	} {
		projecttest.Must(t, s.Quotas.SetLimit(t.Context(), projecttest.Ada, projecttest.Shop.Scope, c.limit))
		gauge := storage.NewGauge(s.DB, 0, func(context.Context, string) (int64, int64, error) { return 0, c.stored, nil })
		err := gauge.GoOn(t.Context(), projecttest.Shop.Scope)
		if c.goesOn {
			projecttest.Must(t, err)
			continue
		}
		if f := projecttest.Refused(t, err, fault.StorageQuotaExceeded); f.Meta["usedBytes"] != c.stored || f.Meta["limitBytes"] != c.limit {
			t.Errorf("%+v: %v", c, f.Meta)
		}
	}
}
