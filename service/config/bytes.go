package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// size is a number of bytes as 512, 16KiB, 64MiB or 10GiB.
type size int64

// units are the words that a size may end with, the largest first.
var units = []struct {
	name  string
	bytes int64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

// String is the size in the largest unit that it is a whole number of.
func (n *size) String() string {
	if *n == 0 {
		return ""
	}
	for _, u := range units {
		if int64(*n)%u.bytes == 0 && u.bytes > 1 {
			return strconv.FormatInt(int64(*n)/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(*n), 10)
}

func (n *size) Set(s string) error {
	v, err := parseSize(s)
	if err != nil || v < 1 {
		return fmt.Errorf("%q is not a size above 0, like 512KiB, 64MiB or 10GiB", s)
	}
	*n = size(v)
	return nil
}

func parseSize(s string) (int64, error) {
	unit := int64(1)
	for _, u := range units {
		if number, found := strings.CutSuffix(s, u.name); found {
			s, unit = number, u.bytes
			break
		}
	}
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil {
		return 0, err
	}
	if int64(n) > math.MaxInt64/unit {
		return 0, strconv.ErrRange
	}
	return int64(n) * unit, nil
}
