package iso_test

import (
	"encoding/json"
	"testing"
	"time"

	"svc.dev/svc/iso"
)

func TestATimeHasOneSpelling(t *testing.T) {
	cet := time.FixedZone("CET", 3600)
	for want, at := range map[string]time.Time{
		"2026-07-01T12:05:00.000Z": time.Date(2026, 7, 1, 12, 5, 0, 0, time.UTC),
		"2026-07-01T12:05:00.120Z": time.Date(2026, 7, 1, 13, 5, 0, 120e6, cet),
		"2026-07-01T12:05:00.123Z": time.Date(2026, 7, 1, 12, 5, 0, 123_999_999, time.UTC),
		"0001-01-01T00:00:00.000Z": {},
	} {
		text, err := json.Marshal(iso.Time(at))
		if err != nil || string(text) != `"`+want+`"` || iso.Format(at) != want || iso.Time(at).String() != want {
			t.Errorf("%s printed as %s, %s: %v", want, text, iso.Format(at), err)
		}
		var back iso.Time
		if err := json.Unmarshal(text, &back); err != nil || !time.Time(back).Equal(at.Truncate(time.Millisecond)) {
			t.Errorf("%s read as %s: %v", text, back, err)
		}
	}
	if iso.Optional(time.Time{}) != nil || iso.Optional(time.Unix(1, 0)).String() != "1970-01-01T00:00:01.000Z" {
		t.Error("what is not known")
	}
}

func TestAMomentThatIsNotKnownIsNull(t *testing.T) {
	at := iso.Millis(1_234)
	for want, given := range map[string]iso.Moment{"null": {}, `"1970-01-01T00:00:01.234Z"`: at} {
		text, err := json.Marshal(given)
		var back iso.Moment
		if err != nil || string(text) != want || json.Unmarshal(text, &back) != nil || !back.Equal(given.Time) {
			t.Errorf("%v is %s, %v, and read again %v; want %s", given, text, err, back, want)
		}
	}
	if !iso.At(at.Time).Equal(at.Time) {
		t.Errorf("%v is not %v", iso.At(at.Time), at)
	}
}
