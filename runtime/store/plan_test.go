package store

import (
	"strings"
	"testing"
)

// No statement of a turn or a search goes through what has accumulated: each finds
// its rows by an index that holds little else.
func TestFault_21_18_nothing_goes_through_the_whole_history(t *testing.T) {
	db, _ := newStore(t)
	const queued, running = "prompt_queued", "prompt_running"
	for query, want := range map[string]string{
		`SELECT count(*) FROM prompt WHERE session = 1 AND state = 'queued'`:                                      queued,
		`SELECT * FROM prompt WHERE session = 1 AND state = 'queued' ORDER BY kind = 'prompt', id LIMIT 1`:        queued,
		`SELECT * FROM prompt WHERE session = 1 AND state = 'queued' AND kind = 'steer' ORDER BY id`:              queued,
		`SELECT DISTINCT session FROM prompt WHERE state = 'queued'`:                                              queued,
		`SELECT * FROM prompt WHERE state = 'running' AND run = 1 AND id != 1 ORDER BY id`:                        "prompt_run (",
		`SELECT * FROM prompt WHERE session = 1 AND state = 'running' ORDER BY id = run DESC LIMIT 1`:             running,
		`SELECT * FROM prompt WHERE state != 'settled' AND (session = 1 OR 1 = 0)`:                                "prompt_open",
		`SELECT 1 FROM ` + searchFrom + `true ORDER BY w.rowid DESC LIMIT 1`:                                      "SCAN w VIRTUAL TABLE",
		`SELECT 1 FROM ` + searchFrom + `(e.session = 1 AND e.seq BETWEEN 1 AND 2) ORDER BY w.rowid DESC LIMIT 1`: "SCAN w VIRTUAL TABLE",
		`SELECT 1 FROM ` + entryFrom + `ORDER BY e.seq DESC LIMIT 1`:                                              "entry_seq (session=? AND rowid>?",
		linesQuery: "entry_end (session=? AND end>? AND end<?)",
		`SELECT 1 FROM record JOIN record_words w ON w.rowid = seq WHERE record_words MATCH ? ORDER BY w.rowid DESC`: "SCAN w VIRTUAL TABLE",
	} {
		args := make([]any, strings.Count(strings.ReplaceAll(query, "- ?1", ""), "?"))
		for i := range args {
			args[i] = 1
		}
		rows, err := db.sql.Query(`EXPLAIN QUERY PLAN `+query, args...)
		if err != nil {
			t.Errorf("%s: %v", query, err)
			continue
		}
		var steps []string
		for rows.Next() {
			var id, parent, unused int
			var step string
			if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
				t.Fatal(err)
			}
			steps = append(steps, step)
		}
		rows.Close()
		plan := strings.Join(steps, "\n")
		if !strings.Contains(steps[0], want) || strings.Contains(want, "VIRTUAL") && strings.Contains(plan, "B-TREE") {
			t.Errorf("%s:\n%s\nwant %s", query, plan, want)
		}
	}
}
