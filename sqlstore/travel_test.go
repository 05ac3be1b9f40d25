package sqlstore_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/sqlstore"
)

// travels are streams as one service writes them for another.
const travels = `{"stream":{"kind":"agent","name":"central","instance":"x","head":1,"part":0,"nextSeq":1,"doneSeq":1,"readyAt":0,"abortSeq":-1,"openFrom":-1,"contextFrom":0,"messages":1,"bytes":10,"usedAt":5}}
{"submission":{"seq":0,"id":"s","kind":"prompt","input":"e30=","size":2,"tail":-1,"admittedAt":5,"outcome":"completed","settledAt":6}}
{"batch":{"last":1,"part":0,"n":2,"at":5,"data":"W10="}}
{"message":{"ord":0,"kind":"user","id":"m","data":"e30="}}
{"blob":{"attachment":"att_1","sha256":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","size":1,"mime":"image/png","filename":""}}
{"stream":{"kind":"run","name":"digest","instance":"run_1","head":0,"part":0,"nextSeq":1,"doneSeq":0,"readyAt":9,"abortSeq":-1,"openFrom":-1,"contextFrom":-1,"messages":0,"bytes":10,"usedAt":5}}
{"submission":{"seq":0,"id":"t","kind":"run","input":"e30=","size":2,"tail":-1,"admittedAt":5}}
{"run":{"id":"run_1","workflow":"digest","status":"active","startedAt":5,"error":null,"result":null}}
`

func TestStreamsThatDoNotBelongTogetherAreRefused(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, address string) {
		db, err := sqldb.Open(t.Context(), address, sqldb.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := db.Migrate(t.Context(), sqlstore.Migrations); err != nil {
			t.Fatal(err)
		}
		if n, err := sqlstore.ReadStreams(t.Context(), db, "users/ada/whole", strings.NewReader(travels)); n != 2 || err != nil {
			t.Errorf("%d streams, %v", n, err)
		}
		unfinished := func() int64 {
			n, err := sqlstore.Unfinished(t.Context(), db, "users/ada/whole")
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		if n := unfinished(); n != 0 {
			t.Errorf("%d can be worked before they are released", n)
		}
		if err := db.Write(t.Context(), func(tx *sqldb.Tx) error { return sqlstore.Release(tx, "users/ada/whole") }); err != nil {
			t.Error(err)
		}
		if n := unfinished(); n != 1 {
			t.Errorf("%d unfinished", n)
		}
		gap := strings.Replace(travels, `"nextSeq":1,"doneSeq":0`, `"nextSeq":2,"doneSeq":0`, 1)
		if _, err := sqlstore.ReadStreams(t.Context(), db, "users/ada/gap", strings.NewReader(gap)); err != nil {
			t.Fatal(err)
		}
		if err := db.Write(t.Context(), func(tx *sqldb.Tx) error { return sqlstore.Release(tx, "users/ada/gap") }); err == nil {
			t.Error("a queue with a gap is released")
		}
		for name, change := range map[string][2]string{
			"a kind that is none":        {`"kind":"agent"`, `"kind":"erased"`},
			"no id":                      {`"instance":"x"`, `"instance":""`},
			"a run of another stream":    {`"id":"run_1"`, `"id":"run_2"`},
			"a hash that is a path":      {`"sha256":"0123`, `"sha256":"../3`},
			"a row before its stream":    {travels[:strings.Index(travels, "\n")], ``},
			"a line of no kind":          {`{"batch"`, `{"bits"`},
			"a line that is cut":         {`"messages":0,"bytes":10`, `"messages":`},
			"two of the same":            {`"instance":"run_1"`, `"instance":"run_1"`},
			"more done than there was":   {`"nextSeq":1,"doneSeq":0`, `"nextSeq":1,"doneSeq":2`},
			"a size below nothing":       {`"size":1`, `"size":-1`},
			"a size without end":         {`"size":1`, `"size":1125899906842625`},
			"a text that no table keeps": {`"name":"central"`, `"name":"a\u0000"`},
		} {
			text := strings.Replace(travels, change[0], change[1], 1)
			if name == "two of the same" {
				text += travels
			}
			if _, err := sqlstore.ReadStreams(t.Context(), db, "users/ada/"+strconv.Quote(name), strings.NewReader(text)); err == nil {
				t.Errorf("%s is kept", name)
			}
		}
	})
}

// TestAttachmentsOfAnImportHaveTheirContent settles rows whose content came, did not come, and is of another size.
func TestAttachmentsOfAnImportHaveTheirContent(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, address string) {
		db, err := sqldb.Open(t.Context(), address, sqldb.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := db.Migrate(t.Context(), sqlstore.Migrations); err != nil {
			t.Fatal(err)
		}
		const scope = "users/ada/whole"
		content, err := sqlstore.PutBlob(t.Context(), db, scope, strings.NewReader("picture"))
		if err != nil {
			t.Fatal(err)
		}
		row := func(id, sha string, size int) string {
			return fmt.Sprintf("{\"blob\":{\"attachment\":%q,\"sha256\":%q,\"size\":%d,\"mime\":\"image/png\",\"filename\":\"\"}}\n", id, sha, size)
		}
		settle := func(text string) (int64, error) {
			t.Helper()
			if _, err := sqlstore.ReadStreams(t.Context(), db, scope, strings.NewReader(text)); err != nil {
				t.Fatal(err)
			}
			return sqlstore.SettleBlobs(t.Context(), db, scope)
		}
		agent, _, _ := strings.Cut(travels, "\n")
		none := strings.Repeat("0", 64)
		if n, err := settle(agent + "\n" + row("att_1", content.SHA256, 7) + row("att_2", none, 1) + row("att_3", none, 2)); n != 2 || err != nil {
			t.Errorf("%d forgotten, %v", n, err)
		}
		if all, err := sqlstore.BlobsAfter(t.Context(), db, scope, ""); err != nil || len(all) != 1 || all[0] != content {
			t.Errorf("%v are left, %v", all, err)
		}
		other := strings.Replace(agent, `"instance":"x"`, `"instance":"y"`, 1)
		if _, err := settle(other + "\n" + row("att_4", content.SHA256, 8)); err == nil || !strings.Contains(err.Error(), "has 7 bytes, and is said to have others") {
			t.Errorf("with another size: %v", err)
		}
		told := 0
		err = sqlstore.EachBlobFile(t.Context(), db, func(sqlstore.BlobFile) error { told++; return nil })
		if err != nil || told != 1 {
			t.Errorf("one file is told of %d times, %v", told, err)
		}
	})
}

// FuzzReadStreams looks at what is read before it comes to a database.
func FuzzReadStreams(f *testing.F) {
	f.Add(travels)
	f.Add(`{"stream":{}}`)
	f.Add(`{"batch":{"data":"!"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		tables, err := sqlstore.TablesOf(text)
		if err != nil {
			return
		}
		if len(tables) > 0 && tables[0] != "streams" {
			t.Errorf("%v: a row comes before its stream", tables)
		}
	})
}
