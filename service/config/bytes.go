package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// size is a number of bytes as 512, 16KiB, 64MiB or 10GiB.
func size(field *int64) value { return parsed[int64]{field, parseSize, showSize} }

// units are the words that a size may end with, the largest first.
var units = []struct {
	name  string
	bytes int64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

// showSize is the size in the largest unit that it is a whole number of.
func showSize(n int64) string {
	for _, u := range units {
		if n%u.bytes == 0 && u.bytes > 1 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}

func parseSize(s string) (int64, error) {
	number, unit := s, int64(1)
	for _, u := range units {
		if before, found := strings.CutSuffix(s, u.name); found {
			number, unit = before, u.bytes
			break
		}
	}
	n, err := strconv.ParseUint(number, 10, 63)
	if err != nil || n < 1 || int64(n) > math.MaxInt64/unit {
		return 0, fmt.Errorf("%q is not a size above 0, like 512KiB, 64MiB or 10GiB", s)
	}
	return int64(n) * unit, nil
}
