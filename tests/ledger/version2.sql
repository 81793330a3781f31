-- A ledger of version 2, as that version wrote it.
BEGIN TRANSACTION;
CREATE TABLE approvals (
	number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	approval_id TEXT NOT NULL, 
	run_id TEXT NOT NULL, 
	attempt INTEGER NOT NULL, 
	user_name TEXT NOT NULL, 
	conversation TEXT NOT NULL, 
	question TEXT NOT NULL, 
	why TEXT NOT NULL, 
	on_reject TEXT NOT NULL, 
	draft JSON NOT NULL, 
	draft_hash TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	state TEXT NOT NULL, 
	verdict TEXT, 
	decided_by TEXT, 
	decided_at DATETIME, 
	reason TEXT NOT NULL, 
	edit TEXT, 
	decision_key TEXT NOT NULL, 
	UNIQUE (approval_id), 
	FOREIGN KEY(run_id) REFERENCES runs (run_id)
);
INSERT INTO "approvals" VALUES(1,'old-waiting.1','old-waiting',1,'ann','money','How many days?','low_score','search','{"run_id":"old-waiting","status":"answered","question":"How many days?","standalone":"","conversation":"","route":"knowledge","attempt":1,"text":"24 days [1].","form":"written","language":"en","sentences":[{"text":"24 days [1].","states":true,"supported":true,"support":0.9,"citations":[{"number":1,"evidence_id":"p1","document_id":"d1","quote":"Staff receive 24 days.","start":0,"end":22}],"unresolved":[]}],"evidence":[{"id":"p1","text":"Staff receive 24 days.","source":"knowledge","document_id":"d1","title":"Leave","location":"leave.md","headings":["How many days"],"page":null,"start":0,"end":22,"language":"en","metadata":{"relevance_score":0.8,"found_by":["knowledge"]}}],"missing":["24 days [1]."],"review":{"passed":false,"suggestions":["say that 24 days [1]."],"outcome":"doubtful","reasonableness":null,"evidence":{"passed":false,"detail":"quoted: 24 days [1]."},"confidence":1.0,"reviewer":"openai:gpt-5","problem":"","usage":{"calls":0,"input_tokens":0,"output_tokens":0,"cost_usd":0.0}},"quality":{"grade":"high","score":0.8,"issues":[],"coverage":null,"relevance":0.7,"diversity":0.0,"count":0.0},"evaluation":null,"score":null,"approval_id":"","decisions":[],"notices":[{"code":"revised","text":"Revised twice."}],"usage":{"calls":2,"input_tokens":300,"output_tokens":40,"cost_usd":0.01},"seconds":1.5}','12a01d9b00b6c1502ef614e7f9c1d8927a19fcbbdbf9c38a33a1281cf4325637','2026-11-15 15:28:13.733236','pending',NULL,NULL,NULL,'',NULL,'');
INSERT INTO "approvals" VALUES(2,'old-rejected.1','old-rejected',1,'ann','','How many days?','low_score','search','{"run_id":"old-rejected","status":"answered","question":"How many days?","standalone":"","conversation":"","route":"knowledge","attempt":1,"text":"24 days [1].","form":"written","language":"en","sentences":[{"text":"24 days [1].","states":true,"supported":true,"support":0.9,"citations":[{"number":1,"evidence_id":"p1","document_id":"d1","quote":"Staff receive 24 days.","start":0,"end":22}],"unresolved":[]}],"evidence":[{"id":"p1","text":"Staff receive 24 days.","source":"knowledge","document_id":"d1","title":"Leave","location":"leave.md","headings":["How many days"],"page":null,"start":0,"end":22,"language":"en","metadata":{"relevance_score":0.8,"found_by":["knowledge"]}}],"missing":["24 days [1]."],"review":{"passed":false,"suggestions":["say that 24 days [1]."],"outcome":"doubtful","reasonableness":null,"evidence":{"passed":false,"detail":"quoted: 24 days [1]."},"confidence":1.0,"reviewer":"openai:gpt-5","problem":"","usage":{"calls":0,"input_tokens":0,"output_tokens":0,"cost_usd":0.0}},"quality":{"grade":"high","score":0.8,"issues":[],"coverage":null,"relevance":0.7,"diversity":0.0,"count":0.0},"evaluation":null,"score":null,"approval_id":"","decisions":[],"notices":[{"code":"revised","text":"Revised twice."}],"usage":{"calls":2,"input_tokens":300,"output_tokens":40,"cost_usd":0.01},"seconds":1.5}','12a01d9b00b6c1502ef614e7f9c1d8927a19fcbbdbf9c38a33a1281cf4325637','2026-11-15 15:28:13.739002','rejected','reject','bob','2026-11-15 15:28:13.740757','Too thin.',NULL,'');
CREATE TABLE conversations (
	user_name TEXT NOT NULL, 
	conversation TEXT NOT NULL, 
	last_turn INTEGER NOT NULL, 
	summary TEXT NOT NULL, 
	folded INTEGER NOT NULL, 
	emptied_at INTEGER NOT NULL, 
	PRIMARY KEY (user_name, conversation)
);
INSERT INTO "conversations" VALUES('ann','money',3,'',0,0);
INSERT INTO "conversations" VALUES('bob','休暇',1,'',0,0);
CREATE TABLE evidence (
	run_id TEXT NOT NULL, 
	evidence_id TEXT NOT NULL, 
	seq INTEGER NOT NULL, 
	document_id TEXT NOT NULL, 
	given BOOLEAN NOT NULL, 
	forgotten BOOLEAN NOT NULL, 
	body JSON NOT NULL, 
	PRIMARY KEY (run_id, evidence_id), 
	FOREIGN KEY(run_id) REFERENCES runs (run_id)
);
INSERT INTO "evidence" VALUES('old-answered','p1',0,'d1',1,0,'{"id":"p1","text":"Refunds take 14 days.","source":"knowledge","document_id":"d1","title":"Leave","location":"leave.md","headings":["How many days"],"page":null,"start":0,"end":21,"language":"en","metadata":{"relevance_score":0.8,"found_by":["knowledge"]}}');
INSERT INTO "evidence" VALUES('old-waiting','p1',0,'d1',1,0,'{"id":"p1","text":"Staff receive 24 days.","source":"knowledge","document_id":"d1","title":"Leave","location":"leave.md","headings":["How many days"],"page":null,"start":0,"end":22,"language":"en","metadata":{"relevance_score":0.8,"found_by":["knowledge"]}}');
INSERT INTO "evidence" VALUES('old-rejected','p1',0,'d1',1,0,'{"id":"p1","text":"Staff receive 24 days.","source":"knowledge","document_id":"d1","title":"Leave","location":"leave.md","headings":["How many days"],"page":null,"start":0,"end":22,"language":"en","metadata":{"relevance_score":0.8,"found_by":["knowledge"]}}');
CREATE TABLE forgotten_documents (
	document_id TEXT NOT NULL, 
	last_run INTEGER NOT NULL, 
	is_scrubbed BOOLEAN NOT NULL, 
	PRIMARY KEY (document_id)
);
CREATE TABLE leases (
	run_id TEXT NOT NULL, 
	token INTEGER NOT NULL, 
	owner TEXT, 
	host TEXT, 
	expires DATETIME, 
	PRIMARY KEY (run_id), 
	FOREIGN KEY(run_id) REFERENCES runs (run_id)
);
INSERT INTO "leases" VALUES('old-answered',1,NULL,NULL,NULL);
INSERT INTO "leases" VALUES('old-recalled',1,NULL,NULL,NULL);
INSERT INTO "leases" VALUES('old-waiting',1,NULL,NULL,NULL);
INSERT INTO "leases" VALUES('old-rejected',2,NULL,NULL,NULL);
INSERT INTO "leases" VALUES('old-running',1,'someone','elsewhere','2026-11-15 15:31:13.748925');
CREATE TABLE ledger_version (
	version INTEGER NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "ledger_version" VALUES(2);
CREATE TABLE outbox (
	number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	run_id TEXT NOT NULL, 
	attempt INTEGER NOT NULL, 
	state TEXT NOT NULL, 
	record JSON, 
	UNIQUE (run_id, attempt), 
	FOREIGN KEY(run_id) REFERENCES runs (run_id)
);
INSERT INTO "outbox" VALUES(1,'old-answered',1,'pending','{"output":"14 days","run_id":"old-answered","attempt":1}');
CREATE TABLE recall_terms (
	user_name TEXT NOT NULL, 
	term TEXT NOT NULL, 
	run INTEGER NOT NULL, 
	conversation TEXT NOT NULL, 
	PRIMARY KEY (user_name, term, run), 
	FOREIGN KEY(run) REFERENCES runs (number)
);
INSERT INTO "recall_terms" VALUES('ann','refund',1,'money');
INSERT INTO "recall_terms" VALUES('ann','take',1,'money');
INSERT INTO "recall_terms" VALUES('ann','14',1,'money');
INSERT INTO "recall_terms" VALUES('ann','day',1,'money');
INSERT INTO "recall_terms" VALUES('ann','1',1,'money');
INSERT INTO "recall_terms" VALUES('bob','給休',2,'休暇');
INSERT INTO "recall_terms" VALUES('bob','休暇',2,'休暇');
INSERT INTO "recall_terms" VALUES('bob','何日',2,'休暇');
INSERT INTO "recall_terms" VALUES('bob','24',2,'休暇');
CREATE TABLE recall_vectors (
	run INTEGER NOT NULL, 
	user_name TEXT NOT NULL, 
	conversation TEXT NOT NULL, 
	vector BLOB NOT NULL, 
	PRIMARY KEY (run), 
	FOREIGN KEY(run) REFERENCES runs (number)
);
INSERT INTO "recall_vectors" VALUES(1,'ann','money',X'0000803F00000000');
CREATE TABLE runs (
	number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	run_id TEXT NOT NULL, 
	user_name TEXT NOT NULL, 
	question TEXT NOT NULL, 
	language TEXT NOT NULL, 
	models JSON NOT NULL, 
	status TEXT NOT NULL, 
	started DATETIME NOT NULL, 
	seconds FLOAT, 
	problem TEXT NOT NULL, 
	usage JSON NOT NULL, 
	answer JSON, 
	forgotten INTEGER NOT NULL, 
	conversation TEXT DEFAULT '' NOT NULL, 
	turn INTEGER DEFAULT 0 NOT NULL, 
	max_rewrites INTEGER DEFAULT 0 NOT NULL, 
	deadline FLOAT DEFAULT 120 NOT NULL, 
	UNIQUE (run_id)
);
INSERT INTO "runs" VALUES(1,'old-answered','ann','How long do refunds take?','en','{"writer":"openai:gpt-5"}','answered','2026-11-15 15:28:13.713885',1.0,'','{"calls":2,"input_tokens":300,"output_tokens":40,"cost_usd":0.01}','{"run_id":"old-answered","status":"answered","question":"How many days?","standalone":"","conversation":"","route":"knowledge","attempt":1,"text":"Refunds take 14 days [1].","form":"written","language":"en","sentences":[{"text":"Refunds take 14 days [1].","states":true,"supported":true,"support":0.9,"citations":[{"number":1,"evidence_id":"p1","document_id":"d1","quote":"Refunds take 14 days.","start":0,"end":21}],"unresolved":[]}],"evidence":[{"id":"p1","text":"Refunds take 14 days.","source":"knowledge","document_id":"d1","title":"Leave","location":"leave.md","headings":["How many days"],"page":null,"start":0,"end":21,"language":"en","metadata":{"relevance_score":0.8,"found_by":["knowledge"]}}],"missing":["Refunds take 14 days [1]."],"review":{"passed":false,"suggestions":["say that Refunds take 14 days [1]."],"outcome":"doubtful","reasonableness":null,"evidence":{"passed":false,"detail":"quoted: Refunds take 14 days [1]."},"confidence":1.0,"reviewer":"openai:gpt-5","problem":"","usage":{"calls":0,"input_tokens":0,"output_tokens":0,"cost_usd":0.0}},"quality":{"grade":"high","score":0.8,"issues":[],"coverage":null,"relevance":0.7,"diversity":0.0,"count":0.0},"evaluation":null,"score":null,"approval_id":"","decisions":[],"notices":[{"code":"revised","text":"Revised twice."}],"usage":{"calls":2,"input_tokens":300,"output_tokens":40,"cost_usd":0.01},"seconds":1.5}',0,'money',1,0,120.0);
INSERT INTO "runs" VALUES(2,'old-recalled','bob','有給休暇は何日ですか？','en','{"writer":"openai:gpt-5"}','answered','2026-11-15 15:28:13.727519',1.0,'','{"calls":2,"input_tokens":300,"output_tokens":40,"cost_usd":0.01}','{"run_id":"old-recalled","status":"answered","question":"How many days?","standalone":"","conversation":"","route":"knowledge","attempt":1,"text":"年に24日です。","form":"written","language":"en","sentences":[{"text":"年に24日です。","states":true,"supported":true,"support":0.9,"citations":[],"unresolved":[]}],"evidence":[],"missing":["年に24日です。"],"review":{"passed":false,"suggestions":["say that 年に24日です。"],"outcome":"doubtful","reasonableness":null,"evidence":{"passed":false,"detail":"quoted: 年に24日です。"},"confidence":1.0,"reviewer":"openai:gpt-5","problem":"","usage":{"calls":0,"input_tokens":0,"output_tokens":0,"cost_usd":0.0}},"quality":{"grade":"high","score":0.8,"issues":[],"coverage":null,"relevance":0.7,"diversity":0.0,"count":0.0},"evaluation":null,"score":null,"approval_id":"","decisions":[],"notices":[{"code":"revised","text":"Revised twice."}],"usage":{"calls":2,"input_tokens":300,"output_tokens":40,"cost_usd":0.01},"seconds":1.5}',0,'休暇',1,0,120.0);
INSERT INTO "runs" VALUES(3,'old-waiting','ann','How many days?','en','{"writer":"openai:gpt-5"}','awaiting_approval','2026-11-15 15:28:13.731746',1.0,'','{"calls":2,"input_tokens":300,"output_tokens":40,"cost_usd":0.01}',NULL,0,'money',2,0,120.0);
INSERT INTO "runs" VALUES(4,'old-rejected','ann','How many days?','en','{"writer":"openai:gpt-5"}','rejected','2026-11-15 15:28:13.737524',1.0,'','{"calls":2,"input_tokens":300,"output_tokens":40,"cost_usd":0.01}','{"run_id":"old-rejected","status":"answered","question":"How many days?","standalone":"","conversation":"","route":"knowledge","attempt":1,"text":"24 days [1].","form":"written","language":"en","sentences":[{"text":"24 days [1].","states":true,"supported":true,"support":0.9,"citations":[{"number":1,"evidence_id":"p1","document_id":"d1","quote":"Staff receive 24 days.","start":0,"end":22}],"unresolved":[]}],"evidence":[{"id":"p1","text":"Staff receive 24 days.","source":"knowledge","document_id":"d1","title":"Leave","location":"leave.md","headings":["How many days"],"page":null,"start":0,"end":22,"language":"en","metadata":{"relevance_score":0.8,"found_by":["knowledge"]}}],"missing":["24 days [1]."],"review":{"passed":false,"suggestions":["say that 24 days [1]."],"outcome":"doubtful","reasonableness":null,"evidence":{"passed":false,"detail":"quoted: 24 days [1]."},"confidence":1.0,"reviewer":"openai:gpt-5","problem":"","usage":{"calls":0,"input_tokens":0,"output_tokens":0,"cost_usd":0.0}},"quality":{"grade":"high","score":0.8,"issues":[],"coverage":null,"relevance":0.7,"diversity":0.0,"count":0.0},"evaluation":null,"score":null,"approval_id":"","decisions":[],"notices":[{"code":"revised","text":"Revised twice."}],"usage":{"calls":2,"input_tokens":300,"output_tokens":40,"cost_usd":0.01},"seconds":1.5}',0,'',0,0,120.0);
INSERT INTO "runs" VALUES(5,'old-running','ann','And in Osaka?','en','{"writer":"openai:gpt-5"}','running','2026-11-15 15:28:13.748791',NULL,'','{"calls":0,"input_tokens":0,"output_tokens":0,"cost_usd":0.0}',NULL,0,'money',3,0,120.0);
CREATE TABLE steps (
	run_id TEXT NOT NULL, 
	seq INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	started DATETIME NOT NULL, 
	seconds FLOAT NOT NULL, 
	facts JSON NOT NULL, 
	texts JSON, 
	PRIMARY KEY (run_id, seq), 
	FOREIGN KEY(run_id) REFERENCES runs (run_id)
);
CREATE TABLE weak_points (
	number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	run_id TEXT NOT NULL, 
	user_name TEXT NOT NULL, 
	question TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	UNIQUE (run_id), 
	FOREIGN KEY(run_id) REFERENCES runs (run_id)
);
INSERT INTO "weak_points" VALUES(1,'old-answered','ann','How long do refunds take?','low_score','2026-11-15 15:28:13.724187');
INSERT INTO "weak_points" VALUES(2,'old-rejected','ann','How many days?','rejected','2026-11-15 15:28:13.747561');
CREATE TABLE weak_terms (
	user_name TEXT NOT NULL, 
	term TEXT NOT NULL, 
	weak_point INTEGER NOT NULL, 
	PRIMARY KEY (user_name, term, weak_point), 
	FOREIGN KEY(weak_point) REFERENCES weak_points (number)
);
INSERT INTO "weak_terms" VALUES('ann','refund',1);
INSERT INTO "weak_terms" VALUES('ann','take',1);
INSERT INTO "weak_terms" VALUES('ann','day',2);
CREATE INDEX runs_by_status ON runs (status, number);
CREATE INDEX runs_of_user ON runs (user_name, number);
CREATE INDEX runs_of_conversation ON runs (user_name, conversation, turn);
CREATE INDEX ix_forgotten_documents_is_scrubbed ON forgotten_documents (is_scrubbed);
CREATE INDEX ix_evidence_document_id ON evidence (document_id);
CREATE INDEX ix_outbox_state ON outbox (state);
CREATE INDEX approvals_by_state ON approvals (state, number);
CREATE INDEX ix_approvals_run_id ON approvals (run_id);
CREATE INDEX recall_terms_of_run ON recall_terms (run);
CREATE INDEX recall_terms_of_conversation ON recall_terms (user_name, conversation, term, run);
CREATE INDEX recall_vectors_of_conversation ON recall_vectors (user_name, conversation, run);
CREATE INDEX recall_vectors_of_user ON recall_vectors (user_name, run);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('runs',5);
INSERT INTO "sqlite_sequence" VALUES('weak_points',2);
INSERT INTO "sqlite_sequence" VALUES('outbox',1);
INSERT INTO "sqlite_sequence" VALUES('approvals',2);
COMMIT;
