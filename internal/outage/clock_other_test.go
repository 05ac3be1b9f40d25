//go:build !linux

package outage_test

import "time"

// instant is the time of day, which processes share too, as long as nobody changes it.
func instant() time.Duration { return time.Duration(time.Now().UnixNano()) }
