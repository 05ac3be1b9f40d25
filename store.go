package svc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"svc.dev/svc/stream"
	"svc.dev/svc/workflow"
)

// Store is what persistence promises. Package storetest is its executable definition.
//
// Every verb is one transaction, and answers within seconds: a call whose time is over ends with an error that leaves open
// whether it took place. Times come from the store's clock, and what shall happen later is told to it as a duration.
// Refusals that callers expect are the errors below; any other error means that the store could not answer.
type Store interface {
	Log
	Queue
	Index
	Blobs
}

// The refusals of a Store.
var (
	ErrNoStream = errors.New("no such stream")          // it was never admitted to, or it was dropped
	ErrFenced   = errors.New("lease lost")              // another holder, or none, has the stream now
	ErrConflict = errors.New("idempotency conflict")    // the key was used with another body
	ErrNotFound = errors.New("not found")               // no such run or attachment in that scope
	ErrBusy     = errors.New("too many writes waiting") // nothing was written; try again shortly
)

// ErrUnavailable is in the chain of an error that says nothing of what was asked for: the store, or whatever else must be
// asked, does not answer now. Work that meets it waits and goes on.
var ErrUnavailable = errors.New("not available now")

// passes reports whether an error will pass: it is no outcome of whatever met it.
func passes(err error) bool { return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrBusy) }

// notAnswered marks an error of the store, or of whatever else must be asked, which is no answer.
func notAnswered(doing string, err error) error {
	return fmt.Errorf("%s: %w: %w", doing, ErrUnavailable, err)
}

// Kind says what a stream is: an agent's conversation, which stays open, or a run, which closes.
type Kind string

// The two kinds of streams.
const (
	KindAgent Kind = "agent"
	KindRun   Kind = "run"
)

// Stream is an address. Equal names and ids in two scopes are two streams that never meet.
type Stream struct {
	Scope string
	Kind  Kind
	Name  string // of the agent or workflow
	ID    string // of the instance or run
}

// LogValue is the stream as lines of a log name it: by its path below the base of its scope.
func (s Stream) LogValue() slog.Value {
	if s.Kind == KindRun {
		return slog.StringValue("runs/" + s.ID)
	}
	return slog.StringValue("agents/" + s.Name + "/" + s.ID)
}

// Topic is something about a stream that can be watched. The zero Stream stands for work that waits for any owner.
type Topic struct {
	Stream Stream
	Of     Watched
}

// Watched names what of a stream is watched.
type Watched byte

// What can be watched.
const (
	Head  Watched = 'h' // batches were appended, or the stream closed
	Mark  Watched = 'm' // an abort was asked for
	Ready Watched = 'r' // work waits; of the zero Stream
)

// Position is a place between two rows of a log. Part counts the rows of private records that stand behind one offset.
type Position struct {
	Offset stream.Offset
	Part   int
}

// Range is what Read shall return: rows strictly after After, up to and including offset Through, stopping before the row
// that would pass Items or Bytes. A page always holds one row if there is one, unless that is more than Largest: then it says
// how large the row is. Zero Items, Bytes or Largest means no bound.
type Range struct {
	After    Position
	Through  stream.Offset
	Items    int
	Bytes    int
	Largest  int
	Messages bool   // finished messages instead of batches: After.Offset and Through count messages from 0
	Kind     string // of messages; empty: all of them
}

// Batch is one append as it lies in the log. It covers the offsets Last-N+1 to Last; private records alone have N 0.
type Batch struct {
	Last stream.Offset
	Part int
	N    int
	At   time.Time
	Data []byte
}

// Position is where the batch stands.
func (b Batch) Position() Position { return Position{b.Last, b.Part} }

// Message is a finished, immutable, encoded row of a conversation's history: a message or a settlement.
type Message struct {
	Ord  int64
	Kind string
	ID   string
	Data []byte
}

// Page is what Read found; More says that rows remain up to Through. Tail is where the stream stood, and no batch of the
// page lies behind its head.
type Page struct {
	Batches  []Batch
	Messages []Message
	More     bool
	Larger   int // how many bytes the next row has, where that is more than Largest and the page is empty for it
	Tail     Tail
}

// Tail is where a stream stands at one instant.
type Tail struct {
	Head        stream.Offset // of the last item; Start while there is none
	Part        int
	Closed      bool
	Aborted     bool          // the submission at the head of the queue is marked
	OpenFrom    stream.Offset // what lies behind it is not yet in messages
	ContextFrom stream.Offset // what the model is given begins behind it
	Messages    int64         // how many finished messages there are
}

// Log is a stream as its readers know it.
type Log interface {
	// Read returns a page after a position, up to a head: whole batches, or finished messages.
	Read(ctx context.Context, s Stream, r Range) (Page, error)
	// Tail says where a stream stands, all of it at one instant.
	Tail(ctx context.Context, s Stream) (Tail, error)
	// Watch signals that a topic may have moved, without data: a lost wake costs latency, never a fact. The channel holds
	// at most one signal; stop ends the watch and may be called twice.
	Watch(t Topic) (wake <-chan struct{}, stop func())
	// Drop erases all of a stream but its head, so that no offset is ever given out twice. Its work is gone with it, its
	// holder is fenced, and its run is not found any more; who watches its head or its mark is told. Dropping what is not
	// there is no error.
	Drop(ctx context.Context, s Stream) error
}

// SubmissionKind says how an input came.
type SubmissionKind string

// The kinds of submissions: a prompt, a dispatch, the invocation of a workflow.
const (
	Direct     SubmissionKind = "direct"
	Dispatched SubmissionKind = "dispatch"
	Invoked    SubmissionKind = "run"
)

// Outcome is how a submission settled; empty while it has not.
type Outcome string

// The outcomes of a submission.
const (
	OutcomeCompleted Outcome = "completed"
	OutcomeFailed    Outcome = "failed"
	OutcomeAborted   Outcome = "aborted"
)

// Submission is one input that a stream has been given.
type Submission struct {
	ID         string
	Seq        int64 // its place in the stream's queue, from 0
	Kind       SubmissionKind
	Input      []byte // nil when there was none, and where Queue.Input fetches it; a list has its first InputHead bytes
	Bytes      int64  // of the whole input
	AdmittedAt time.Time
	Aborted    bool
	State      string // as listed: queued, running, aborting or parked
	Reason     string // why it is parked
}

// InputHead is how much of an input a list holds: enough for a preview, whatever was sent.
const InputHead = 4 << 10

// Why work waits that nobody has begun, or that gave its lease back, as lists show it.
const (
	ReasonBackoff       = "model_backoff"      // its model is not asked again yet
	ReasonNotRegistered = "not_registered"     // no node knows its workflow
	ReasonDefinition    = "definition_missing" // the version of its agent that it began with is not found
	ReasonMemory        = "memory"             // the node that had it had no room for it
	ReasonStopped       = "stopped"            // the node that had it stopped
	ReasonInterrupted   = "interrupted"        // an append did not go through
)

// The states in which conversations are listed, beside StateRunning.
const (
	StateIdle    = "idle"
	StateWaiting = "waiting" // nobody is at work on what it was given
	StateFailed  = "failed"  // so ended the last that it was given
)

// The states in which unsettled work is listed.
const (
	StateQueued   = "queued"
	StateRunning  = "running"
	StateAborting = "aborting"
	StateParked   = "parked"
)

// Owner is a node that works: the leases it takes carry its name, and it says what it can work.
type Owner struct {
	Node      string        // kept across restarts
	Boot      string        // new with every start
	Lease     time.Duration // how long a lease lasts without renewal; zero is 10 seconds
	Workflows []string      // names of runs it can work
	Agents    bool          // it can work agents' streams
}

// Key makes an admission happen once. Name is unique within a scope; Hash is that of the request's body.
type Key struct {
	Name string
	Hash []byte
}

// Admission is one submission to be added to a stream.
type Admission struct {
	Stream     Stream
	Submission string // its id
	Kind       SubmissionKind
	Input      []byte
	Opening    []byte       // the first batch of a stream that holds none; it takes offset 0
	Run        bool         // the stream is a run: it is listed from now on
	Key        *Key         // nil: no idempotency
	At         time.Time    // zero: the store's clock
	Blobs      []Attachment // attachments that the stream refers to from now on
	Owner      *Owner       // nil: no lease is wanted
	StartedBy  string       // of a run: the person or program that asked for it
	Replay     bool         // only look for the key: nothing is admitted, and a new one is ErrNotFound
}

// Receipt is the durable answer to an admission.
type Receipt struct {
	Stream     Stream // of a replayed one: the first admission's
	Submission string
	Offset     stream.Offset // the tail before the submission could run
	AdmittedAt time.Time
	Replayed   bool   // the key was seen before: nothing was admitted
	Lease      *Lease // the first lease, if an owner asked and the stream was idle
}

// Lease is the right to append to one stream until another claims it.
type Lease struct {
	Stream      Stream
	Epoch       int64
	Owner       string
	Row         int64     // the store's own name of the stream
	Now         time.Time // by the store's clock
	Tail        Tail
	Stored      int64      // bytes that the stream holds
	Submission  Submission // at the head of the queue
	Attempts    int        // how many leases on this submission lapsed for another owner, were voided or failed since its last progress
	Interrupted bool       // the one before lapsed or was voided
	Reason      string     // why the one before was released; empty for a first claim or a lapse
}

// Release says how a lease is given back.
type Release struct {
	After  time.Duration // the stream is parked for so long; zero: it is claimable at once
	Reason string        // told to the next holder
	Failed bool          // the work itself failed: that counts an attempt, as a lapse does
}

// Claimed is what an owner was given, and how long it is until the next stream that waits for a time becomes ready (zero:
// none known).
type Claimed struct {
	Leases []Lease
	Next   time.Duration
	Now    time.Time // by the store's clock
}

// Renewed names the leases that were not prolonged, and those whose submission was marked for abort.
type Renewed struct {
	Lost    []Lease
	Busy    []Lease // still held, but their rows are in use: they stand as they stood
	Aborted []Lease
	Now     time.Time // by the store's clock
}

// Commit is what one append writes, all of it or nothing.
type Commit struct {
	Data        []byte    // the batch; nil writes none
	N           int       // offsets it takes; 0 for private records alone
	Messages    []Message // finished by it, in order; Ord is given by the store
	OpenFrom    *stream.Offset
	ContextFrom *stream.Offset
	Progress    bool          // a recorded result: the attempts start again
	Run         *workflow.Run // the run as it ended
	Settle      Outcome       // settles the submission at the head of the queue
	Close       bool          // no batch follows, ever
	Release     bool          // give the lease back if the queue is empty then
	Blobs       []Attachment  // attachments that the stream refers to from now on
}

// Appended is where an append left the stream.
type Appended struct {
	Head     stream.Offset
	Part     int
	Aborted  bool // the submission at the head of the queue is marked for abort
	Waiting  bool // more submissions wait
	Released bool
	Next     *Submission // the new head of the queue, after a settlement that kept the lease
}

// Queue is a stream as those who work on it know it.
type Queue interface {
	// Admit adds one submission, durable before it returns, the tail taken before it is runnable. A stream that holds no
	// batch gets its opening batch here: the one append without a lease. A key seen before gives the first receipt again,
	// or ErrConflict if the body differs. For an idle stream and an owner the receipt holds the first lease.
	Admit(ctx context.Context, a Admission) (Receipt, error)
	// Abort marks one unsettled submission, or all of them for the empty id; the first mark wins. It reports whether what
	// it names was unsettled. A parked stream whose head it marks becomes ready.
	Abort(ctx context.Context, s Stream, submission string) (bool, error)
	// Claim leases up to n streams the owner can work, longest waiting first, epoch raised; none is held twice. The first
	// claim of an owner registers what it can work, and voids the leases of its node's earlier boots. What no registered
	// owner can work is parked, ReasonNotRegistered, until an owner registers that can; a run that was cancelled is every
	// owner's work.
	Claim(ctx context.Context, o Owner, n int) (Claimed, error)
	// Renew prolongs the leases that are still the owner's, and its registration, in one statement that waits for no lock,
	// and names the others.
	Renew(ctx context.Context, o Owner, held []Lease) (Renewed, error)
	// Input is what a submission of the lease's stream was given, nil when that was nothing. What Claim and Append name comes
	// without it, so that whoever works has room for one input at a time.
	Input(ctx context.Context, l Lease, submission Submission) ([]byte, error)
	// Append commits all or nothing: records, finished messages, run row, settlement, closing. A stale lease gets ErrFenced
	// and nothing is written. A settling commit may release the lease in the same transaction.
	Append(ctx context.Context, l Lease, c Commit) (Appended, error)
	// Release gives a lease back. A stream whose head is marked for abort is not parked. A stale lease gets ErrFenced.
	Release(ctx context.Context, l Lease, r Release) error
}

// RunQuery asks for a page of runs. Zero fields do not filter.
type RunQuery struct {
	Scope    string
	All      bool // of every scope: then Scope and Workflow do not filter, and each run says whose it is
	Status   workflow.Status
	Workflow string
	Before   string // the run id of the last row seen; empty starts at the newest
	Limit    int
}

// RunPage is a page of runs, newest first; More says that older ones match too.
type RunPage struct {
	Runs []workflow.Run
	More bool
}

// ConversationQuery asks for a page of a scope's agent streams.
type ConversationQuery struct {
	Scope  string
	Agent  string // empty: of every agent
	Before *Conversation
	Limit  int
}

// Conversation is an agent stream as listed.
type Conversation struct {
	Agent     string
	ID        string
	State     string    // idle, running, waiting or failed
	CreatedAt time.Time // of the first admission
	UsedAt    time.Time // of the last admission

	// First is the beginning of the first input. A Runtime lists what it says instead: the first line of the message, and who sent it.
	First            []byte
	Title, StartedBy string
}

// ConversationPage is a page of conversations, last used first.
type ConversationPage struct {
	Conversations []Conversation
	More          bool
}

// Index answers look-ups. What it shows is derived from the log in the transaction that writes it.
type Index interface {
	// GetRun finds a run of a scope with its input and outcome; another scope's is ErrNotFound.
	GetRun(ctx context.Context, scope, id string) (workflow.Run, error)
	// FindRun names a run's stream, and how many bytes its input and outcome take; another scope's run is ErrNotFound.
	FindRun(ctx context.Context, scope, id string) (Stream, int64, error)
	// ListRuns pages through the runs of a scope, or of all, by run id, newest first.
	ListRuns(ctx context.Context, q RunQuery) (RunPage, error)
	// Submissions lists a stream's unsettled work in order, at most the first 1,000, with the beginnings of its inputs.
	Submissions(ctx context.Context, s Stream) ([]Submission, error)
	// Conversations lists a scope's agent streams, last used first, without their Title and StartedBy. What it costs does not grow with
	// what was said.
	Conversations(ctx context.Context, q ConversationQuery) (ConversationPage, error)
}

// Blob is stored bytes, named by their SHA-256 in lower-case hex.
type Blob struct {
	SHA256 string
	Size   int64
}

// Attachment is a stream's reference to a blob of its scope.
type Attachment struct {
	ID       string
	Blob     Blob
	MimeType string
	Filename string
}

// Blobs keeps attachments' bytes.
type Blobs interface {
	// Put is durable before it returns; the same bytes twice, at once too, are kept once, and never shared between scopes.
	// What no stream refers to within a day is swept.
	Put(ctx context.Context, scope string, r io.Reader) (Blob, error)
	// Get opens an attachment of this stream and of no other; anything else is ErrNotFound.
	Get(ctx context.Context, s Stream, attachment string) (Attachment, io.ReadCloser, error)
}
