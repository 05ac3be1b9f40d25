// Package amount writes how many there are of something, as sentences do.
package amount

import "fmt"

// Of is a number and its noun, which has an s unless there is one of it.
func Of[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
