package sqlstore

import "strings"

// DropRun is how a dropped stream's run is deleted.
const DropRun = dropRun

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
