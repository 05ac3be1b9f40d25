package sqlstore

// DropRun is how a dropped stream's run is deleted.
const DropRun = dropRun

// OldConversations and LaterScope are how retention finds conversations.
const (
	OldConversations = oldConversations
	LaterScope       = laterScope
)
