// What Northwind's people and models say, and what lies in its projects.

const note = `# Tuesday 17 November

Night shift: **nobody on call**, first look at 06:00.

## Open from yesterday

- [x] Rename the archive project
- [ ] Compare the two price lists, see \`prices-2026.csv\`

## Overnight

37 messages read, 35 filed, 2 need a person.

1. **invoice-export** stopped five times. The mail credential ended at 01:12.
   14 customers got no invoice.
2. **crm-sync** met a rate limit once and passed on its next run.

## To do

- [ ] Ada: replace the e-mail credential, then run the export again
- [ ] Jonas: tell the account team which 14 customers wait

## Figures

| what   | night | usual |
|--------|-------|-------|
| runs   | 214   | 190   |
| failed | 6     | 1     |
`;

const customers = `customer,country,invoices,waiting\nFjordline,NO,31,2\nHarbor Supply,NL,18,1\nKral Trading,CZ,44,9\nOsei Studio,GB,7,2\n`;

const script = `#!/usr/bin/env python3
"""Exports the invoices of a month, one file each."""
import csv, sys

def invoices(path):
    with open(path, newline="") as rows:
        yield from csv.DictReader(rows)

for row in invoices(sys.argv[1]):
    print(row["customer"], row["invoices"])
`;

// repository is what the branch main of northwind/ops holds.
export const repository = {
  "README.md": "# ops\n\nWhat runs at night at Northwind, and what to do when it does not.\n",
  "customers.csv": customers,
  "prices-2026.csv": "item,price\nrope 10 m,12.40\nfender,31.00\nwinch,418.00\n",
};

const written = {
  "runbooks/invoice-export.md": "# invoice-export\n\n1. Look at the last run.\n2. A refused credential: replace it under Settings, Secrets.\n3. Start the run again. Finished steps are kept.\n",
  "runbooks/mail-credential.md": "# The mail credential\n\nIt ends every 90 days. Ada has the account.\n",
  "scripts/export.py": script,
  "notes/template.md": "# Weekday, day month\n\nNight shift:\n\n## Open from yesterday\n\n## Overnight\n",
};

export const files = {
  ops: { ...repository, ...written, "notes/2026-11-17.md": note, "notes/2026-11-16.md": "# Monday 16 November\n\nA quiet night. 189 runs, none failed.\n" },
  docs: { "welcome.md": "# Welcome\n\nHow to order, and when we deliver.\n", "returns.md": "# Returns\n\nThirty days, unused.\n", "faq.md": "# Questions\n\nAnswers to what customers ask most.\n" },
  invoices: { "2026-10/fjordline.md": "# Invoice 4411\n\nFjordline, 2 boats.\n", "2026-10/harbor.md": "# Invoice 4412\n\nHarbor Supply, 31 fenders.\n" },
};

export const question = "Which runs failed last night, and who waits for an invoice? Add it to today's note.";

const answer = `Two workflows failed between 18:00 and 06:00:

- **invoice-export** stopped five times in a row. The mail credential ended at 01:12, so **14 customers** got no invoice.
- **crm-sync** failed once on a rate limit and succeeded on its next run. Nothing to do.

Most of those who wait are Kral Trading's. I counted with the file in \`ops\`:

\`\`\`python
import csv

with open("customers.csv", newline="") as rows:
    waiting = {row["customer"]: int(row["waiting"]) for row in csv.DictReader(rows)}

print(sum(waiting.values()), max(waiting, key=waiting.get))  # 14 Kral Trading
\`\`\`

| customer | waiting |
|---|---:|
| Kral Trading | 9 |
| Fjordline | 2 |
| Osei Studio | 2 |
| Harbor Supply | 1 |

It stands in \`notes/2026-11-17.md\` now. To clear it, replace \`MAIL_PASSWORD\` under Settings and start the export again: finished steps are kept.`;

const streamed = `I would write to Kral Trading first, since nine of the fourteen are theirs. A draft:

> Dear Kral Trading, nine invoices of October did not reach you because our mail account was locked overnight. They

`;

export const next = "Draft the mail to the customers who wait";

// unhurried is a model that takes its time over each file: a run that can be seen on a timeline.
export const unhurried = [
  { to: "Sum up the file notes/2026-11-17.md", turns: [{ say: "The night of 17 November: 214 runs, 6 failed.", delay: 3200 }] },
  { to: "Sum up the file README.md", turns: [{ say: "What runs at night.", delay: 2600 }] },
  { to: "Sum up the file", turns: [{ say: "What customers read before they order.", delay: 1900 }] },
];

// lines are what the model of the company answers, and to what.
export const lines = [
  {
    to: question,
    turns: [
      {
        think: "The night is in the notes of the project ops. I read today's note and the list of customers, then have triage rank what failed, and write the result down.",
        calls: [
          { name: "list_files", input: { project: "ops", prefix: "notes/" } },
          { name: "read_file", input: { project: "ops", path: "customers.csv" } },
        ],
        delay: 900,
      },
      { calls: [{ name: "ask_agent", input: { agent: "triage", prompt: "Rank the two failures of last night by customer impact: invoice-export and crm-sync." } }], delay: 400 },
      { say: answer, delay: 300 },
    ],
  },
  { to: "Rank the two failures", turns: [{ say: "1. invoice-export: 14 customers got no invoice.\n2. crm-sync: passed on its next run.", delay: 700 }] },
  { to: next, turns: [{ think: "Kral Trading waits for most of them, so it comes first. ", say: streamed, hangs: true }] },
  { to: "Compare the two price lists", turns: [{ calls: [{ name: "read_file", input: { project: "ops", path: "prices-2025.csv" } }] }, { refuses: true }] },
  { to: "Sum up what you have", turns: [{ say: "Nine lines, all of them about rope." }] },
  { to: "crm-sync and invoice-export", turns: [
    { think: "Money first.", calls: [{ name: "search_files", input: { project: "ops", text: "invoice-export" } }, { name: "read_file", input: { project: "ops", path: "customers.csv" } }], delay: 400 },
    { say: "invoice-export first. 14 customers got no invoice since 01:12, and it does not mend itself: the credential has ended.\n\ncrm-sync hit a rate limit once and passed on its next run. I would leave it, and look again tomorrow." },
  ] },
  { to: "Sum up the file notes/2026-11-17.md", turns: [{ say: "The night of 17 November: 214 runs, 6 failed. ", delay: 200, hangs: true }] },
  { to: "Sum up the file 2026-10/", turns: [{ say: "An invoice of October.", delay: 300 }] },
  { to: "Sum up the file", turns: [{ say: "What customers read before they order.", delay: 250 }] },
];
