package config

import "testing"

func TestASizeIsReadInWholeUnits(t *testing.T) {
	for text, want := range map[string]int64{
		"512": 512, "512B": 512, "16KiB": 16 << 10, "64MiB": 64 << 20, "10GiB": 10 << 30, "2TiB": 2 << 40, "8388607TiB": 8388607 << 40,
	} {
		var n, again int64
		if err := size(&n).Set(text); err != nil || n != want {
			t.Errorf("%s is %d, %v", text, n, err)
		}
		if err := size(&again).Set(size(&n).String()); err != nil || again != n {
			t.Errorf("%s is said as %s, which is %d, %v", text, size(&n), again, err)
		}
	}
	for _, text := range []string{"", "0", "0MiB", "-1", "+1", "1.5GiB", "1 GiB", "64MB", "64mib", "MiB", "8388608TiB", "9223372036854775808", "1KiBB", "0x10"} {
		n := int64(7)
		if err := size(&n).Set(text); err == nil || n != 7 {
			t.Errorf("%q is %d, %v", text, n, err)
		}
	}
}
