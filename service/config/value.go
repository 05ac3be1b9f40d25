package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"svc.dev/svc/service/account"
	"svc.dev/svc/service/database"
)

// value is a field of Config as text.
type value interface {
	String() string // empty: not given
	Set(text string) error
}

type text string

func (t *text) String() string { return string(*t) }

func (t *text) Set(s string) error {
	*t = text(s)
	return nil
}

// databaseAddress is where a database lies. What it looks like inside is for the database to judge.
type databaseAddress string

func (a *databaseAddress) String() string { return string(*a) }

func (a *databaseAddress) Set(s string) error {
	if !strings.HasPrefix(s, "sqlite:") && !database.IsPostgres(s) {
		return errors.New("the address has no known scheme: write sqlite:PATH for a file, or postgres://USER@HOST/DATABASE")
	}
	*a = databaseAddress(s)
	return nil
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

type count int

func (n *count) String() string {
	if *n == 0 {
		return ""
	}
	return strconv.Itoa(int(*n))
}

func (n *count) Set(s string) error {
	v, err := strconv.Atoi(s)
	if err != nil || v < 1 {
		return fmt.Errorf("%q is not a whole number above 0", s)
	}
	*n = count(v)
	return nil
}

// duration is a time span as 30s, 15m or 14d.
type duration time.Duration

func (d *duration) String() string {
	if *d == 0 {
		return ""
	}
	return time.Duration(*d).String()
}

func (d *duration) Set(s string) error {
	v, err := parseDuration(s)
	if err != nil || v <= 0 {
		return fmt.Errorf("%q is not a duration above 0, like 30s, 15m or 14d", s)
	}
	*d = duration(v)
	return nil
}

// maxDays keeps a span of days within what a time.Duration can hold.
const maxDays = 106751

func parseDuration(s string) (time.Duration, error) {
	days, found := strings.CutSuffix(s, "d")
	if !found {
		return time.ParseDuration(s)
	}
	n, err := strconv.Atoi(days)
	if err == nil && (n < 0 || n > maxDays) {
		err = strconv.ErrRange
	}
	return time.Duration(n) * 24 * time.Hour, err
}

// cost is what deriving a password costs.
type cost account.Scrypt

func (c *cost) String() string {
	if *c == (cost{}) {
		return ""
	}
	return account.Scrypt(*c).String()
}

func (c *cost) Set(s string) error {
	v, err := account.ParseScrypt(s)
	if err != nil {
		return err
	}
	*c = cost(v)
	return nil
}
