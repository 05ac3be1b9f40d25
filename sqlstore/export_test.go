package sqlstore

// DropRun is how a dropped stream's run is deleted.
const DropRun = dropRun

// ListConversations is how a page of conversations is listed.
var ListConversations = conversations
