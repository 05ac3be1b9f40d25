package sqlstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb"
)

// traveller is one line; one of its fields is set.
type traveller struct {
	Stream     *streamLine     `json:"stream,omitempty"`
	Submission *submissionLine `json:"submission,omitempty"`
	Input      *inputLine      `json:"input,omitempty"`
	Batch      *batchLine      `json:"batch,omitempty"`
	Message    *messageLine    `json:"message,omitempty"`
	Run        *runLine        `json:"run,omitempty"`
	Blob       *blobLine       `json:"blob,omitempty"`
}

func (t traveller) row() travelling {
	switch {
	case t.Stream != nil:
		return t.Stream
	case t.Submission != nil:
		return t.Submission
	case t.Input != nil:
		return t.Input
	case t.Batch != nil:
		return t.Batch
	case t.Message != nil:
		return t.Message
	case t.Run != nil:
		return t.Run
	case t.Blob != nil:
		return t.Blob
	}
	return nil
}

// travelling is a row that travels with its stream.
type travelling interface {
	table() string
	order() string
	scoped() bool              // the table has the scope too
	columns() []column         // but for stream and scope
	check(of streamLine) error // what a database could not refuse
}

// column is a column and where its value is.
type column struct {
	name  string
	value any // a pointer
}

func columnsOf(r travelling) string {
	var names []string
	for _, c := range r.columns() {
		names = append(names, c.name)
	}
	return strings.Join(names, ", ")
}

func pointers(r travelling) (all []any) {
	for _, c := range r.columns() {
		all = append(all, c.value)
	}
	return all
}

// valuesOf are what the columns hold. Bytes that are not there are NULL, and not empty.
func valuesOf(r travelling) (all []any) {
	for _, c := range r.columns() {
		all = append(all, valueOf(c.value))
	}
	return all
}

func valueOf(pointer any) any {
	switch p := pointer.(type) {
	case *int64:
		return *p
	case *string:
		return *p
	case *bool:
		return *p
	case *[]byte:
		if *p != nil {
			return *p
		}
	case **int64:
		if *p != nil {
			return **p
		}
	case **string:
		if *p != nil {
			return **p
		}
	}
	return nil
}

type streamLine struct {
	Kind        string `json:"kind"`
	Name        string `json:"name"`
	Instance    string `json:"instance"`
	Head        int64  `json:"head"`
	Part        int64  `json:"part"`
	NextSeq     int64  `json:"nextSeq"`
	DoneSeq     int64  `json:"doneSeq"`
	ReadyAt     int64  `json:"readyAt"`
	Reason      string `json:"reason,omitempty"`
	AbortSeq    int64  `json:"abortSeq"`
	OpenFrom    int64  `json:"openFrom"`
	ContextFrom int64  `json:"contextFrom"`
	Messages    int64  `json:"messages"`
	Bytes       int64  `json:"bytes"`
	UsedAt      int64  `json:"usedAt"`
	Closed      bool   `json:"closed,omitempty"`
	Dropped     bool   `json:"dropped,omitempty"`
}

func (*streamLine) table() string { return "streams" }
func (*streamLine) order() string { return "id" }
func (*streamLine) scoped() bool  { return true }
func (s *streamLine) columns() []column {
	return []column{
		{"kind", &s.Kind}, {"name", &s.Name}, {"instance", &s.Instance}, {"head", &s.Head}, {"part", &s.Part}, {"next_seq", &s.NextSeq}, {"done_seq", &s.DoneSeq},
		{"ready_at", &s.ReadyAt}, {"reason", &s.Reason}, {"abort_seq", &s.AbortSeq}, {"open_from", &s.OpenFrom}, {"context_from", &s.ContextFrom},
		{"messages", &s.Messages}, {"bytes", &s.Bytes}, {"used_at", &s.UsedAt}, {"closed", &s.Closed}, {"dropped", &s.Dropped},
	}
}

func (s *streamLine) check(streamLine) error {
	known := slices.Contains([]svc.Kind{svc.KindAgent, svc.KindRun}, svc.Kind(s.Kind))
	if !known || s.Name == "" || s.Instance == "" || !sqldb.Storable(s.Name, s.Instance, s.Reason) {
		return fmt.Errorf("there is no stream of kind %q with the name %q and the id %q", s.Kind, s.Name, s.Instance)
	}
	if s.DoneSeq > s.NextSeq || s.ReadyAt < 0 {
		return fmt.Errorf("stream %q has done more than there was, or was ready before all time", s.Instance)
	}
	return errors.Join(within(-1, s.Head, s.AbortSeq, s.OpenFrom, s.ContextFrom), within(0, s.Part, s.NextSeq, s.DoneSeq, s.Messages, s.Bytes, s.UsedAt))
}

// within refuses numbers that no service counts to: sums of them would not be right.
func within(least int64, all ...int64) error {
	for _, n := range all {
		if n < least || n > 1<<50 {
			return fmt.Errorf("%d is no number of a stream", n)
		}
	}
	return nil
}

type submissionLine struct {
	Seq        int64   `json:"seq"`
	ID         string  `json:"id"`
	Kind       string  `json:"kind"`
	Input      []byte  `json:"input"`
	Size       int64   `json:"size"`
	Tail       int64   `json:"tail"`
	AdmittedAt int64   `json:"admittedAt"`
	AbortAt    *int64  `json:"abortAt,omitempty"`
	Outcome    *string `json:"outcome,omitempty"`
	SettledAt  *int64  `json:"settledAt,omitempty"`
}

func (*submissionLine) table() string { return "submissions" }
func (*submissionLine) order() string { return "seq" }
func (*submissionLine) scoped() bool  { return false }
func (r *submissionLine) check(streamLine) error {
	return within(-1, r.Seq, r.Size, r.Tail, r.AdmittedAt)
}
func (r *submissionLine) columns() []column {
	return []column{
		{"seq", &r.Seq}, {"id", &r.ID}, {"kind", &r.Kind}, {"input", &r.Input}, {"size", &r.Size}, {"tail", &r.Tail}, {"admitted_at", &r.AdmittedAt},
		{"abort_at", &r.AbortAt}, {"outcome", &r.Outcome}, {"settled_at", &r.SettledAt},
	}
}

type inputLine struct {
	Seq  int64  `json:"seq"`
	Data []byte `json:"data"`
}

func (*inputLine) table() string            { return "inputs" }
func (*inputLine) order() string            { return "seq" }
func (*inputLine) scoped() bool             { return false }
func (r *inputLine) check(streamLine) error { return within(0, r.Seq) }
func (r *inputLine) columns() []column      { return []column{{"seq", &r.Seq}, {"data", &r.Data}} }

type batchLine struct {
	Last int64  `json:"last"`
	Part int64  `json:"part"`
	N    int64  `json:"n"`
	At   int64  `json:"at"`
	Data []byte `json:"data"`
}

func (*batchLine) table() string            { return "batches" }
func (*batchLine) order() string            { return "last, part" }
func (*batchLine) scoped() bool             { return false }
func (r *batchLine) check(streamLine) error { return within(-1, r.Last, r.Part, r.N, r.At) }
func (r *batchLine) columns() []column {
	return []column{{"last", &r.Last}, {"part", &r.Part}, {"n", &r.N}, {"at", &r.At}, {"data", &r.Data}}
}

type messageLine struct {
	Ord  int64  `json:"ord"`
	Kind string `json:"kind"`
	ID   string `json:"id"`
	Data []byte `json:"data"`
}

func (*messageLine) table() string            { return "messages" }
func (*messageLine) order() string            { return "ord" }
func (*messageLine) scoped() bool             { return false }
func (r *messageLine) check(streamLine) error { return within(0, r.Ord) }
func (r *messageLine) columns() []column {
	return []column{{"ord", &r.Ord}, {"kind", &r.Kind}, {"id", &r.ID}, {"data", &r.Data}}
}

type runLine struct {
	ID        string `json:"id"`
	Workflow  string `json:"workflow"`
	Status    string `json:"status"`
	StartedAt int64  `json:"startedAt"`
	StartedBy string `json:"startedBy,omitempty"`
	EndedAt   *int64 `json:"endedAt,omitempty"`
	Error     []byte `json:"error"`
	Result    []byte `json:"result"`
}

func (*runLine) table() string { return "runs" }
func (*runLine) order() string { return "id" }
func (*runLine) scoped() bool  { return true }
func (r *runLine) check(of streamLine) error {
	if of.Kind != string(svc.KindRun) || r.ID != of.Instance || r.Workflow != of.Name {
		return fmt.Errorf("run %q is not that of its stream", r.ID)
	}
	return within(0, r.StartedAt)
}

func (r *runLine) columns() []column {
	return []column{
		{"id", &r.ID}, {"workflow", &r.Workflow}, {"status", &r.Status}, {"started_at", &r.StartedAt}, {"started_by", &r.StartedBy}, {"ended_at", &r.EndedAt},
		{"error", &r.Error}, {"result", &r.Result},
	}
}

type blobLine struct {
	Attachment string `json:"attachment"`
	SHA256     string `json:"sha256"`
	Size       int64  `json:"size"`
	MimeType   string `json:"mime"`
	Filename   string `json:"filename"`
}

func (*blobLine) table() string { return "blobs" }
func (*blobLine) order() string { return "attachment" }
func (*blobLine) scoped() bool  { return true }
func (r *blobLine) check(streamLine) error {
	if !isHash(r.SHA256) {
		return fmt.Errorf("attachment %q has no hash", r.Attachment)
	}
	return within(0, r.Size)
}

func (r *blobLine) columns() []column {
	return []column{{"attachment", &r.Attachment}, {"sha256", &r.SHA256}, {"size", &r.Size}, {"mime", &r.MimeType}, {"filename", &r.Filename}}
}

// isHash reports whether a text is a SHA-256 in small hexadecimal, and so the name of a file and of nothing else.
func isHash(text string) bool {
	return len(text) == 64 && strings.Trim(text, "0123456789abcdef") == ""
}
