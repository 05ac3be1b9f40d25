package main

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"svc.dev/svc/internal/bundle/bundletest"
)

// begun is the example project as somebody comes to it: svc init in an empty folder, its packages, and the example's modules.
func begun(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("svc", "init", dir).CombinedOutput(); err != nil {
		t.Fatalf("svc init: %v: %s", err, out)
	}
	bundletest.With(t, dir)
	if err := os.CopyFS(filepath.Join(dir, "src"), os.DirFS(filepath.Join("..", "..", "examples", "project", "src"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestFromAnEmptyFolder begins a project, works on it, and takes its bundle to a machine that has no Node.
func TestFromAnEmptyFolder(t *testing.T) {
	dir := begun(t)
	p := launch(t, nil, "dev", dir, "--listen", "127.0.0.1:0")
	asCustomer := http.Header{"Content-Type": {"application/json"}, "X-Customer": {"ada"}}
	if res := send(t, "POST", p.Address+"/api/agents/helper/ada", asCustomer, `{"kind":"user","body":"look_up_order {\"order\":\"order_1042\"}"}`); res.status != 202 {
		t.Fatalf("a prompt: %d %s", res.status, res.body)
	}
	if !eventually(func() bool {
		return strings.Contains(send(t, "GET", p.Address+"/api/agents/helper/ada", asCustomer, "").body, `The tool says {\"id\":\"order_1042\",\"cents\":1250`)
	}) {
		t.Errorf("the tool is not called: %s", send(t, "GET", p.Address+"/api/agents/helper/ada", asCustomer, "").body)
	}
	res := send(t, "POST", p.Address+"/api/channels/payments/events", asCustomer, `{"id":"e1","type":"contested","order":"order_1042","customer":"ada"}`)
	var started struct{ RunID string }
	if err := json.Unmarshal([]byte(res.body), &started); err != nil || res.status != 202 {
		t.Fatalf("the channel: %d %s", res.status, res.body)
	}
	if !eventually(func() bool {
		return strings.Contains(send(t, "GET", p.Address+"/refunds/"+started.RunID, asCustomer, "").body, `"status":"completed"`)
	}) {
		t.Errorf("the run that the channel started: %s", send(t, "GET", p.Address+"/refunds/"+started.RunID, asCustomer, "").body)
	}
	p.stop(t)
	<-p.done
	if os.Getenv("SVC_SOAK") == "1" { // tsc takes its time, and the tests of ts ask it too
		out, err := exec.Command("svc", "check", dir, "--replay", "refund", "--input", `{"order":"order_1042","customer":"ada"}`).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "types passed") || !strings.Contains(string(out), "replay of refund same") {
			t.Errorf("svc check: %v: %s", err, out)
		}
	}
	withoutNode(t, dir)
}

// withoutNode runs a project's bundle where there is no program but svc.
func withoutNode(t *testing.T, dir string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "shop.bundle")
	if out, err := exec.Command("svc", "bundle", dir, "-o", file).CombinedOutput(); err != nil {
		t.Fatalf("svc bundle: %v: %s", err, out)
	}
	data := filepath.Join(t.TempDir(), "data")
	p := launch(t, []string{"PATH=" + t.TempDir(), "SVC_LISTEN=127.0.0.1:0", "SVC_OPS_LISTEN=127.0.0.1:0"}, "serve", "--data", data, "--project", file)
	ada := signUp(t, p.Serving, "ada", "agents:read", "agents:write", "workflows:run", "runs:read")
	res := ada.do(t, "POST", "/workflows/refund?wait=result", `{"order":"order_1042","customer":"ada"}`)
	if res.status != 200 || !strings.Contains(res.body, `"cents":1250`) {
		t.Errorf("without Node it answers %d %s", res.status, res.body)
	}
	if res := ada.do(t, "GET", "/refunds", ""); res.status != 200 || !strings.Contains(res.body, `"refund"`) {
		t.Errorf("without Node the application answers %d %s", res.status, res.body)
	}
}
