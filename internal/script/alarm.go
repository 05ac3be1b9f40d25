package script

import (
	"container/heap"
	"time"
)

// alarm is a timer of a script. Its function stays in JavaScript; here is when it is due.
type alarm struct {
	at    time.Time
	id    int64
	act   int64
	place int
}

// alarms are the timers of an engine, the next one first. They share one timer of Go's. Only the engine's goroutine touches them.
type alarms struct {
	queue alarmQueue
	byID  map[int64]*alarm
	ofAct map[int64]int // how many each act has
	clock *time.Timer
}

// set adds a timer, or moves it.
func (a *alarms) set(id, act int64, at time.Time) {
	if a.byID == nil {
		a.byID, a.ofAct = map[int64]*alarm{}, map[int64]int{}
	}
	one := &alarm{at: at, id: id, act: act}
	a.drop(id)
	a.byID[id] = one
	a.ofAct[act]++
	heap.Push(&a.queue, one)
}

// drop removes a timer, and reports whether it was there.
func (a *alarms) drop(id int64) bool {
	one := a.byID[id]
	if one == nil {
		return false
	}
	heap.Remove(&a.queue, one.place)
	a.forget(one)
	return true
}

func (a *alarms) forget(one *alarm) {
	delete(a.byID, one.id)
	if a.ofAct[one.act]--; a.ofAct[one.act] == 0 {
		delete(a.ofAct, one.act)
	}
}

// dropAct removes the timers of an act.
func (a *alarms) dropAct(act int64) {
	if a.ofAct[act] == 0 {
		return
	}
	for id, one := range a.byID {
		if one.act == act {
			a.drop(id)
		}
	}
}

// due adds a turn for every timer whose time has come. Timers that these turns set come after them, however short.
func (a *alarms) due(turns []turn, now time.Time) []turn {
	for len(a.queue) > 0 && !a.queue[0].at.After(now) {
		one := heap.Pop(&a.queue).(*alarm)
		a.forget(one)
		turns = append(turns, turn{entrance: "timer", act: one.act, calls: [][]any{{one.act, one.id}}})
	}
	return turns
}

// wait tells when the next timer is due; a nil channel when there is none.
func (a *alarms) wait(now time.Time) <-chan time.Time {
	if len(a.queue) == 0 {
		return nil
	}
	left := a.queue[0].at.Sub(now)
	if a.clock == nil {
		a.clock = time.NewTimer(left)
	} else {
		a.clock.Reset(left)
	}
	return a.clock.C
}

func (a *alarms) stop() {
	if a.clock != nil {
		a.clock.Stop()
	}
}

// alarmQueue is a heap by time, and by order of setting where the time is the same.
type alarmQueue []*alarm

func (q alarmQueue) Len() int { return len(q) }

func (q alarmQueue) Less(i, j int) bool {
	if q[i].at.Equal(q[j].at) {
		return q[i].id < q[j].id
	}
	return q[i].at.Before(q[j].at)
}

func (q alarmQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

// Push is heap's.
func (q *alarmQueue) Push(x any) {
	one := x.(*alarm)
	one.place = len(*q)
	*q = append(*q, one)
}

// Pop is heap's.
func (q *alarmQueue) Pop() any {
	last := len(*q) - 1
	one := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return one
}
