package certificate

import "time"

// LookAgain is how often files are looked at.
const LookAgain = lookAgain

// Watch is a certificate of files at a time of the test's own.
func Watch(cert, key string) (serial func(now time.Time) (string, error)) {
	f := &files{cert: cert, key: key}
	return func(now time.Time) (string, error) {
		if err := f.renew(now); err != nil {
			return "", err
		}
		return f.pair.Leaf.SerialNumber.String(), nil
	}
}
