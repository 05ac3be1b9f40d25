package certificate

import "time"

// LookAgain is how often files are looked at.
const LookAgain = lookAgain

// Watch is a certificate of files at a time of the test's own.
func Watch(cert, key string, hosts ...string) (serial func(now time.Time) (string, error)) {
	f := &files{cert: cert, key: key, hosts: hosts}
	return func(now time.Time) (string, error) {
		err := f.renew(now)
		if f.pair == nil {
			return "", err
		}
		return f.pair.Leaf.SerialNumber.String(), err
	}
}
