// Package hold is what systems do differently with the files of one person: holding one, whose it is, and whether others can read it.
package hold

import "errors"

// ErrHeld says that another process holds the file.
var ErrHeld = errors.New("held by another process")
