package throttle_test

import (
	"testing"

	"svc.dev/svc/service/throttle"
)

func TestAPartyIsWhatOneOwnerOfAddressesHolds(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"192.0.2.1", "192.0.2.1", true},
		{"192.0.2.1", "192.0.2.2", false},
		{"192.0.2.1", "::ffff:192.0.2.1", true},
		{"::ffff:192.0.2.1", "::ffff:192.0.2.2", false},
		{"2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff", true},
		{"2001:db8:0:1::1", "2001:db8:0:2::1", false},
		{"fe80::1%eth0", "fe80::2%eth1", true},
		{"2001:db8::1", "192.0.2.1", false},
		{"", "", true},
		{"", "192.0.2.1", false},
		{"not an address", "another", false},
	} {
		if same := throttle.Network(c.a) == throttle.Network(c.b); same != c.same {
			t.Errorf("%s is %s, %s is %s", c.a, throttle.Network(c.a), c.b, throttle.Network(c.b))
		}
	}
}

func TestASiteIsWhatOneMayHoldManyNetworksOf(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"2001:db8:1:1::1", "2001:db8:1:ffff::1", true},
		{"2001:db8:1::1", "2001:db8:2::1", false},
		{"192.0.2.1", "::ffff:192.0.2.1", true},
		{"::ffff:192.0.2.1", "::ffff:192.0.2.2", false},
		{"not an address", "another", false},
	} {
		if same := throttle.Site(c.a) == throttle.Site(c.b); same != c.same {
			t.Errorf("%s is %s, %s is %s", c.a, throttle.Site(c.a), c.b, throttle.Site(c.b))
		}
	}
}
