package page

import (
	"time"

	"svc.dev/svc/internal/amount"
)

// moment is a time as people write it. The server does not know the reader's zone, so it names its own.
func moment(t time.Time) string { return t.UTC().Format("2 Jan 2006, 15:04 UTC") }

// day is the date of a time.
func day(t time.Time) string { return t.UTC().Format("2 Jan 2006") }

// machine is a time as the datetime attribute wants it.
func machine(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// ago says how long a time has passed.
func (p *Pages) ago(t time.Time) string {
	passed := p.config.Now().Sub(t)
	if passed < time.Minute {
		return "just now"
	}
	return span(passed) + " ago"
}

// left says how long it is until a time, or that it has passed.
func (p *Pages) left(t time.Time) string {
	rest := t.Sub(p.config.Now())
	if rest <= 0 {
		return "expired"
	}
	return span(rest) + " left"
}

// past reports whether a time has come.
func (p *Pages) past(t time.Time) bool { return !t.After(p.config.Now()) }

// span is a length of time in its largest unit: 45 seconds, 12 minutes, 1 hour, 3 days.
func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return amount.Of(int((d+time.Second-1)/time.Second), "second")
	case d < time.Hour:
		return amount.Of(int(d/time.Minute), "minute")
	case d < 24*time.Hour:
		return amount.Of(int(d/time.Hour), "hour")
	}
	return amount.Of(int(d/(24*time.Hour)), "day")
}
