package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"svc.dev/svc/internal/amount"
	"svc.dev/svc/service/secret"
)

// lookAtKeys reads the key ring, and sees whether it opens what the database holds.
func (d *doctor) lookAtKeys(ctx context.Context) {
	path := d.config.KeysFile
	ring, err := d.config.Ring()
	switch {
	case err == nil && d.config.KeysRing.Reveal() != "":
		d.add("key ring", fine(fmt.Sprintf("given as SVC_KEYS, with %s", amount.Of(len(ring.Kids()), "key"))))
	case err == nil:
		d.add("key ring", fine(fmt.Sprintf("%s is this user's alone, with %s; it belongs into a backup of its own", path, amount.Of(len(ring.Kids()), "key"))))
	case !errors.Is(err, fs.ErrNotExist):
		d.add("key ring", fail(err.Error(), "chmod 600 "+path+", or restore the file"))
		return
	case d.sealed(ctx):
		d.add("key ring", fail(path+" is not there, and the database holds what only its keys open", "restore the file, or give the ring as SVC_KEYS"))
		return
	case !d.faces():
		d.add("key ring", fail(path+" is not there", "give this process the ring that svc gateway made at its first start, as keys.file or SVC_KEYS"))
		return
	default:
		d.add("key ring", fine(path+" is not there yet: svc "+d.parts[0].Name+" makes it over an empty database"))
		return
	}
	if d.sealed(ctx) {
		d.add("secrets", judgeRule(secret.Prove(ctx, d.db, ring), "the key ring opens what the database holds",
			"give the key ring that belongs to this database, as keys.file or SVC_KEYS"))
	}
}

// sealed reports whether the database was seen to hold what only its key ring opens. Where the tables of secrets are not there
// yet, there are none.
func (d *doctor) sealed(ctx context.Context) bool {
	if d.db == nil {
		return false
	}
	empty, err := secret.Empty(ctx, d.db)
	return err == nil && !empty
}
