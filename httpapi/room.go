package httpapi

import (
	"context"
	"net/http"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/memory"
)

// roomWait is how long an answer waits for memory.
const roomWait = 10 * time.Second

// recordTimes is what a run's record takes while it is answered with: its parts as they were read, joined, and encoded.
const recordTimes = 3

// room takes memory for an answer from the share of the stream's scope. What is larger than a share gets all of one.
func (rd *reader) room(r *http.Request, n int64) (*memory.Grant, error) {
	ctx, cancel := context.WithTimeout(r.Context(), roomWait)
	defer cancel()
	room, err := rd.rt.In(rd.stream.Scope).AwaitRoom(ctx, memory.Reads, min(n, rd.rt.Memory().Share()))
	if err != nil {
		return nil, fault.NotAvailable("busy").Because(err)
	}
	return room, nil
}

// pageRoom takes memory for a page.
func (rd *reader) pageRoom(r *http.Request) (*memory.Grant, error) { return rd.room(r, svc.PageRoom) }
