package operate

import (
	"context"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
)

// asideMoment is how long staff wait to hear that a rotation is done. A longer one goes on without them.
const asideMoment = 2 * time.Second

// RotateAside begins, for whoever the context says, what an operator's command does, and says how far it came in a moment,
// and whether it is done.
func (m *Machine) RotateAside(ctx context.Context) (r Rotation, done bool, err error) {
	if !m.Keys.changing.TryLock() {
		return Rotation{}, false, fault.New(fault.AlreadyRunning, "The keys are being changed already.", "Look again shortly.")
	}
	type end struct {
		Rotation
		err error
	}
	ended := make(chan end, 1)
	go func() {
		defer m.Keys.changing.Unlock()
		// Whoever asked may go: what is begun is ended.
		r, err := m.rotate(sqldb.Regardless(ctx), Rotate{}, func(Rotation) {})
		if err != nil {
			m.Keys.config.Log.Error("rotate keys", "error", err)
		}
		ended <- end{r, err}
	}()
	select {
	case e := <-ended:
		return e.Rotation, true, e.err
	case <-time.After(asideMoment):
	}
	rows, err := m.Keys.Secrets.Rows(ctx)
	return Rotation{Active: m.Keys.Secrets.Active(), Rows: rows}, false, err
}
