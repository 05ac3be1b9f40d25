package sqldb

import (
	"regexp"
	"strings"
)

var placeholder = regexp.MustCompile(`\$[0-9]+`)

// steady keeps SQLite from planning a statement anew for every value that is bound to it. Where a parameter is compared with
// a column of a partial index, or is a limit or a pattern, SQLite looks at its value while it plans, and plans again when
// another is bound. It does not look into a subquery, which is evaluated once. Lists of values are inserted, not compared.
func steady(query string) string {
	head, values, tail := splitValues(query)
	return placeholder.ReplaceAllString(head, "(SELECT $0)") + values + placeholder.ReplaceAllString(tail, "(SELECT $0)")
}

var valuesList = regexp.MustCompile(`(?i)\bVALUES\s*\(`)

// splitValues finds the first list of values that a statement inserts.
func splitValues(query string) (head, values, tail string) {
	at := valuesList.FindStringIndex(query)
	if at == nil {
		return query, "", ""
	}
	depth := 1
	end := strings.IndexFunc(query[at[1]:], func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		return depth == 0
	})
	if end < 0 {
		return query, "", ""
	}
	return query[:at[0]], query[at[0] : at[1]+end], query[at[1]+end:]
}
