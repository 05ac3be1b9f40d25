package project_test

import (
	"fmt"
	"io"
	"testing"
	"time"

	"svc.dev/svc/service/project/projecttest"
)

// TestASeriesThatWritesKeepsItsReservation writes for an hour, while others sweep.
func TestASeriesThatWritesKeepsItsReservation(t *testing.T) {
	projecttest.Each(t, projecttest.Config{Limit: 100}, func(t *testing.T, s *projecttest.Scene) {
		series, err := s.Begin(t.Context(), projecttest.Ada, s.Make("site"), 30)
		if err != nil {
			t.Fatal(err)
		}
		defer series.Close(t.Context())
		slowly := func(w io.Writer) error {
			for range 10 {
				s.Clock.Advance(2 * time.Minute)
				if _, err := io.WriteString(w, "x"); err != nil {
					return err
				}
				if _, err := s.Sweep(t.Context(), s.Clock.Now()); err != nil {
					return err
				}
			}
			return nil
		}
		for i := range 3 {
			if _, err := series.Write(t.Context(), fmt.Sprint("f", i), "", slowly); err != nil {
				t.Fatalf("file %d: %v", i, err)
			}
		}
		outcomes, err := series.Commit(t.Context())
		if err != nil || len(outcomes) != 3 || outcomes[0] != nil || outcomes[1] != nil || outcomes[2] != nil {
			t.Errorf("%v, %v", outcomes, err)
		}
		if got := s.Stored(); got.UsedBytes != 30 {
			t.Errorf("stored %+v", got)
		}
	})
}
