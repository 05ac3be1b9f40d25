package screen

import (
	"iter"

	"github.com/clipperhouse/displaywidth"
)

// Letters gives the letters of a text as people count them, and how many columns each takes on a terminal: one, two for most of
// East Asia's and for pictures, none for a mark without a letter to stand on.
func Letters(text string) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for all := displaywidth.StringGraphemes(text); all.Next(); {
			if !yield(all.Value(), all.Width()) {
				return
			}
		}
	}
}

// Columns is how many columns a text takes that stands on one line.
func Columns(text string) int { return displaywidth.String(text) }
