package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"svc.dev/svc/service/database"
)

// value is a field of Config as text.
type value interface {
	String() string // empty: not given
	Set(text string) error
}

// parsed is a field that is read from a text, and shown as one.
type parsed[T comparable] struct {
	field *T
	parse func(string) (T, error)
	show  func(T) string
}

func (p parsed[T]) String() string {
	var none T
	if *p.field == none {
		return ""
	}
	return p.show(*p.field)
}

func (p parsed[T]) Set(s string) error {
	v, err := p.parse(s)
	if err == nil {
		*p.field = v
	}
	return err
}

// written is a text of some form.
func written(field *string, parse func(string) (string, error)) value {
	return parsed[string]{field, parse, func(s string) string { return s }}
}

func text(field *string) value {
	return written(field, func(s string) (string, error) { return s, nil })
}

// parseNames reads names of variables, with commas between them. Those of the service itself are no project's to see.
func parseNames(s string) (string, error) {
	for name := range strings.SplitSeq(s, ",") {
		if name == "" || strings.ContainsAny(name, "= \t") {
			return "", errors.New("it is no list of names of variables: write them as STRIPE_KEY,SHOP_URL")
		}
		if strings.HasPrefix(name, "SVC_") {
			return "", fmt.Errorf("%s is a variable of the service itself: give the project's another name", name)
		}
	}
	return s, nil
}

// parseAddress reads where a database lies. What it looks like inside is for the database to judge.
func parseAddress(s string) (string, error) {
	if !strings.HasPrefix(s, "sqlite:") && !database.IsPostgres(s) {
		return "", errors.New("the address has no known scheme: write sqlite:PATH for a file, or postgres://USER@HOST/DATABASE")
	}
	return s, nil
}

// choice is one of a few words.
type choice struct {
	field *string
	words []string
}

func (c choice) String() string { return *c.field }

func (c choice) Set(s string) error {
	for _, word := range c.words {
		if strings.EqualFold(s, word) {
			*c.field = word
			return nil
		}
	}
	return fmt.Errorf("%q is not one of %s", s, strings.Join(c.words, ", "))
}

func count(field *int) value { return parsed[int]{field, parseCount, strconv.Itoa} }

func parseCount(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%q is not a whole number above 0", s)
	}
	return n, nil
}

// duration is a time span as 30s, 15m or 14d.
func duration(field *time.Duration) value {
	return parsed[time.Duration]{field, parseDuration, time.Duration.String}
}

// Kept is the retention of what is kept for ever.
const Kept time.Duration = -1

// retention is a duration, or the word keep.
func retention(field *time.Duration) value {
	return parsed[time.Duration]{field, parseRetention, showRetention}
}

func parseRetention(s string) (time.Duration, error) {
	if strings.EqualFold(s, "keep") {
		return Kept, nil
	}
	d, err := parseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%w, or keep", err)
	}
	return d, nil
}

func showRetention(d time.Duration) string {
	if d == Kept {
		return "keep"
	}
	return d.String()
}

// maxDays keeps a span of days within what a time.Duration can hold.
const maxDays = 106751

func parseDuration(s string) (d time.Duration, err error) {
	if days, found := strings.CutSuffix(s, "d"); found {
		var n int
		n, err = strconv.Atoi(days)
		d = time.Duration(min(n, maxDays)) * 24 * time.Hour
		if n < 0 || n > maxDays {
			err = strconv.ErrRange
		}
	} else {
		d, err = time.ParseDuration(s)
	}
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is not a duration above 0, like 30s, 15m or 14d", s)
	}
	return d, nil
}
