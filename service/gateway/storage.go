package gateway

import (
	"net/http"

	"svc.dev/svc/iso"
	"svc.dev/svc/service/project"
)

// storageView is how much a workspace stores, in bytes.
type storageView struct {
	LimitBytes       int64     `json:"limitBytes"`
	UsedBytes        int64     `json:"usedBytes"`
	ReservedBytes    int64     `json:"reservedBytes"`
	SoftLimitPercent int       `json:"softLimitPercent"`
	State            string    `json:"state"`
	ByKind           kindsView `json:"byKind"`
	MeasuredAt       iso.Time  `json:"measuredAt"`
}

// kindsView is the bytes of each kind.
type kindsView struct {
	Projects    int64 `json:"projects"`
	Attachments int64 `json:"attachments"`
	Streams     int64 `json:"streams"`
	Snapshots   int64 `json:"snapshots"`
}

func viewStorage(s project.Storage) storageView {
	return storageView{
		s.LimitBytes, s.UsedBytes, s.ReservedBytes, s.SoftLimitPercent, s.State, kindsView(s.ByKind), iso.Time(s.MeasuredAt),
	}
}

// getStorage tells how full the workspace is: to everybody in it, also to those who only pay for it.
func (x *exchange) getStorage() error {
	s, err := x.g.Projects.Storage(x.ctx(), x.address())
	if err != nil {
		return err
	}
	return x.json(http.StatusOK, viewStorage(s))
}
