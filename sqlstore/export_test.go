package sqlstore

import (
	"strings"
	"time"
)

// DropRun is how a dropped stream's run is deleted.
const DropRun = dropRun

// SweptFirst says within which time a store sweeps by itself for the first time.
func (c Config) SweptFirst(within time.Duration) Config {
	c.sweepFirst = within
	return c
}

// OldConversations and LaterScope are how retention finds conversations.
const (
	OldConversations = oldConversations
	LaterScope       = laterScope
)

// TablesOf are the tables of rows that travel.
func TablesOf(text string) (tables []string, err error) {
	err = eachLine(strings.NewReader(text), func(row travelling, _ int64) error {
		tables = append(tables, row.table())
		valuesOf(row)
		return nil
	})
	return tables, err
}
