package sqlstore

// DropRun is how a dropped stream's run is deleted.
const DropRun = dropRun
