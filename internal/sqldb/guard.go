package sqldb

import "context"

type guardKey struct{}

// Guard lets every Write that is given the context begin with a check in its own transaction: what is decided there holds when
// the transaction commits, however long ago the request began. Rooms know nothing of it, so none can forget it. A nil check
// takes an earlier one away.
func Guard(ctx context.Context, check func(*Tx) error) context.Context {
	return context.WithValue(ctx, guardKey{}, check)
}

// AlsoGuard is Guard beside the check that the context has: both must hold.
func AlsoGuard(ctx context.Context, check func(*Tx) error) context.Context {
	before, _ := ctx.Value(guardKey{}).(func(*Tx) error)
	if before == nil {
		return Guard(ctx, check)
	}
	return Guard(ctx, func(tx *Tx) error {
		if err := before(tx); err != nil {
			return err
		}
		return check(tx)
	})
}

// guarded is fn behind the check of the context.
func guarded(ctx context.Context, fn func(*Tx) error) func(*Tx) error {
	check, _ := ctx.Value(guardKey{}).(func(*Tx) error)
	if check == nil {
		return fn
	}
	return func(tx *Tx) error {
		if err := check(tx); err != nil {
			return err
		}
		return fn(tx)
	}
}

// Regardless is for what is on record already and goes to its end: it outlives the request that began it, and a right that is lost
// in between.
func Regardless(ctx context.Context) context.Context { return Guard(context.WithoutCancel(ctx), nil) }
