package workflow_test

import (
	"fmt"
	"time"

	"svc.dev/svc/workflow"
)

// An event is one line, as it stands in the log and as readers are sent it.
func ExampleEvent_Encode() {
	line, err := workflow.Logged(workflow.LevelInfo, "packed", nil).Encode("run_1", 3, time.UnixMilli(0))
	fmt.Printf("%s %v\n", line, err)
	// Output: {"type":"log","level":"info","message":"packed","runId":"run_1","v":3,"eventIndex":3,"timestamp":"1970-01-01T00:00:00.000Z"} <nil>
}
