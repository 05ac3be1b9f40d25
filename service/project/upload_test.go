package project_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/project"
	"svc.dev/svc/service/project/projecttest"
)

func TestUnknownLengthIsReservedInSteps(t *testing.T) {
	const mib = 1 << 20
	s := projecttest.One(t, projecttest.Config{Limit: 20 * mib})
	s.Make("site")
	var most int64
	body := &watched{Reader: io.LimitReader(zeros{}, 17*mib), see: func() {
		most = max(most, s.Number("SELECT reserved FROM storage_quotas"))
	}}
	if err := s.Send("big", body, project.Unknown); err != nil {
		t.Fatal(err)
	}
	if most != 20*mib {
		t.Errorf("reserved at most %d", most)
	}
	if got := s.Stored(); got.UsedBytes != 17*mib || got.ReservedBytes != 0 {
		t.Errorf("stored %+v", got)
	}
	err := s.Send("more", projecttest.Stream{Reader: io.LimitReader(zeros{}, 4*mib)}, project.Unknown)
	if f := projecttest.Refused(t, err, fault.StorageQuotaExceeded); f.Meta["usedBytes"] != int64(17*mib) || f.Meta["requestedBytes"].(int64) < 3*mib {
		t.Errorf("meta %v", f.Meta)
	}
	if err := s.Send("rest", projecttest.Stream{Reader: io.LimitReader(zeros{}, 3*mib)}, project.Unknown); err != nil {
		t.Errorf("what fits exactly: %v", err)
	}
	s.Agree()
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
	s := projecttest.One(t, projecttest.Config{MaxFile: 100_000})
	s.Make("site")
	for _, c := range []struct {
		bytes, size int64
		ok          bool
	}{
		{100_000, 100_000, true}, {100_001, 100_001, false}, {100_000, project.Unknown, true}, {100_001, project.Unknown, false},
		{10_000_000, project.Unknown, false}, {0, math.MaxInt64, false},
	} {
		err := s.Send("f", projecttest.Stream{Reader: io.LimitReader(zeros{}, c.bytes)}, c.size)
		if c.ok && err != nil {
			t.Errorf("%+v: %v", c, err)
		}
		if !c.ok {
			if f := projecttest.Refused(t, err, fault.BodyTooLarge); f.Meta["limit"] != int64(100_000) {
				t.Errorf("meta %v", f.Meta)
			}
		}
	}
	if got := s.Stored(); got.UsedBytes != 100_000 || got.ReservedBytes != 0 {
		t.Errorf("stored %+v", got)
	}
	s.Agree()
}

func TestSizesThatLieOrOverflowAreRefused(t *testing.T) {
	projecttest.Each(t, projecttest.Config{Limit: math.MaxInt64, MaxFile: math.MaxInt64}, func(t *testing.T, s *projecttest.Scene) {
		s.Make("site")
		s.Save("site", "f", "old")
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
			"overflowing":        {strings.NewReader("x"), math.MaxInt64, fault.StorageQuotaExceeded},
			"nearly":             {strings.NewReader("x"), math.MaxInt64 - 2, fault.InvalidRequest},
			"broken off":         {broken, 100, fault.InvalidRequest},
			"broken off early":   {&failing{errors.New("connection reset by peer")}, project.Unknown, fault.InvalidRequest},
			"a fault of its own": {&failing{fault.New(fault.BodyTooLarge, "Too much.", "")}, 10, fault.BodyTooLarge},
		} {
			// Something else is reserved, so that the sum would overflow.
			s.Exec("UPDATE storage_quotas SET reserved = 2")
			err := s.Send("f", c.body, c.size)
			if name == "nearly" && err == nil {
				t.Error("nearly: written")
			}
			if !fault.Is(err, c.typ) {
				t.Errorf("%s: %v", name, err)
			}
			s.Exec("UPDATE storage_quotas SET reserved = reserved - 2")
			if got := s.Content("site", "f"); got != "old" {
				t.Errorf("%s: file is %q", name, got)
			}
			if got := s.Stored(); got.UsedBytes != 3 || got.ReservedBytes != 0 {
				t.Errorf("%s: stored %+v", name, got)
			}
		}
		if err := s.Send("empty", nil, 0); err != nil || s.Content("site", "empty") != "" {
			t.Errorf("an empty file: %v", err)
		}
		s.Agree()
	})
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

func TestWhoeverLeavesAnUploadLeavesNothing(t *testing.T) {
	s := projecttest.One(t, projecttest.Config{})
	s.Make("site")
	ctx, leave := context.WithCancel(t.Context())
	body := io.MultiReader(strings.NewReader("begun"), &calls{leave})
	_, _, err := s.Write(ctx, projecttest.Ada, projecttest.Shop, "site", "a", project.Upload{Body: body, Size: 1000})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if got := s.Stored(); got.ReservedBytes != 0 {
		t.Errorf("reserved %+v", got)
	}
	s.Agree()
}

// calls leaves while it is read.
type calls struct{ leave func() }

func (c *calls) Read(into []byte) (int, error) {
	c.leave()
	into[0] = 'x'
	return 1, nil
}

func TestAProjectHasAMostNumberOfFiles(t *testing.T) {
	s := projecttest.One(t, projecttest.Config{MaxFiles: 3})
	s.Make("site")
	for i := range 3 {
		s.Save("site", fmt.Sprint(i), "")
	}
	_, _, err := s.Put("site", "3", "", project.Condition{})
	projecttest.Refused(t, err, fault.InvalidRequest)
	s.Save("site", "2", "again")
	s.Agree()
}

// TestALimitBelowWhatIsPeekedHolds sends a body of unknown length that is read whole before anything is reserved.
func TestALimitBelowWhatIsPeekedHolds(t *testing.T) {
	s := projecttest.One(t, projecttest.Config{MaxFile: 1000})
	s.Make("site")
	projecttest.Refused(t, s.Send("f", projecttest.Stream{Reader: io.LimitReader(zeros{}, 1001)}, project.Unknown), fault.BodyTooLarge)
	if err := s.Send("f", projecttest.Stream{Reader: io.LimitReader(zeros{}, 1000)}, project.Unknown); err != nil {
		t.Error(err)
	}
}
