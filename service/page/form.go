package page

import (
	"slices"
	"strings"
	"time"
)

// Form is what a page with a form carries beside the text that was typed.
type Form struct {
	// ReturnTo is where success leads; it comes back with the form. Empty: the form has no such field.
	ReturnTo string
	// Error is the sentence of the refusal that the page answers. Empty: there was none.
	Error string
	// Fields are the fields that were refused.
	Fields []FieldError
	// RetryAfter is how long the next attempt must wait. Zero: it is not said.
	RetryAfter time.Duration
	// Notice is what happened on the way here. An unknown one is not shown.
	Notice Notice
}

// FieldError is a field that was refused, as in meta.fields of the JSON routes. Beside the types of the contract, "taken"
// says that a name belongs to somebody.
type FieldError struct {
	Field, Type string
}

func (f Form) form() Form { return f }

// wrong is the sentence beside a field, empty when nothing is wrong with it.
func (f Form) wrong(field string) string {
	for _, e := range f.Fields {
		if e.Field == field {
			return sentence(e.Field, e.Type)
		}
	}
	return ""
}

// complaint is a line of the summary above a form.
type complaint struct {
	Text string
	ID   string // of the field; empty: it is not on the page
}

// Complaints are the refused fields in the order in which they stand on the page, then those that do not stand there.
func (f frame) Complaints() []complaint {
	var here, elsewhere []complaint
	for _, field := range f.fields {
		if text := f.Form.wrong(field); text != "" {
			here = append(here, complaint{text, field})
		}
	}
	for _, e := range f.Form.Fields {
		if !slices.Contains(f.fields, e.Field) {
			elsewhere = append(elsewhere, complaint{Text: sentence(e.Field, e.Type)})
		}
	}
	return append(here, elsewhere...)
}

// Refused reports whether the page answers a refusal.
func (f frame) Refused() bool { return f.Form.Error != "" || len(f.Form.Fields) > 0 }

// Wait says how long the next attempt must wait, and nothing when that is not known.
func (f frame) Wait() string {
	if f.Form.RetryAfter <= 0 {
		return ""
	}
	return "Try again in " + span(f.Form.RetryAfter) + "."
}

// Wrong is what is wrong with a field, empty when nothing is.
func (f frame) Wrong(field string) string { return f.Form.wrong(field) }

// Focus reports whether a person goes on at a field.
func (f frame) Focus(field string) bool { return f.first() == field }

// first is the field where a person goes on: the first refused one, or after a refusal that names none the first password,
// since that alone came back empty.
func (f frame) first() string {
	for _, field := range f.fields {
		if f.Form.wrong(field) != "" {
			return field
		}
	}
	if f.Form.Error == "" {
		return ""
	}
	for _, field := range f.fields {
		if strings.HasSuffix(strings.ToLower(field), "password") {
			return field
		}
	}
	return ""
}
