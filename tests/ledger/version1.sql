-- A ledger of version 1, as that version wrote it.
BEGIN TRANSACTION;
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
INSERT INTO "evidence" VALUES('old-answered','p1',0,'d1',1,0,'{"id":"p1","text":"Staff receive 24 days.","source":"knowledge","document_id":"d1","title":"Leave","location":"leave.md","headings":["How many days"],"page":null,"start":0,"end":22,"language":"en","metadata":{"relevance_score":0.8,"found_by":["knowledge"]}}');
CREATE TABLE forgotten_documents (
	document_id TEXT NOT NULL, 
	last_run INTEGER NOT NULL, 
	is_scrubbed BOOLEAN NOT NULL, 
	PRIMARY KEY (document_id)
);
CREATE TABLE ledger_version (
	version INTEGER NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "ledger_version" VALUES(1);
CREATE TABLE outbox (
	number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	run_id TEXT NOT NULL, 
	attempt INTEGER NOT NULL, 
	state TEXT NOT NULL, 
	record JSON, 
	UNIQUE (run_id, attempt), 
	FOREIGN KEY(run_id) REFERENCES runs (run_id)
);
INSERT INTO "outbox" VALUES(1,'old-answered',1,'pending','{"output":"24 days","run_id":"old-answered","attempt":1}');
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
	UNIQUE (run_id)
);
INSERT INTO "runs" VALUES(1,'old-answered','ann','How many days?','en','{"writer":"local"}','answered','2026-11-15 12:26:32.897404',1.0,'','{"calls":0,"input_tokens":0,"output_tokens":0,"cost_usd":0.0}','{"run_id":"old-answered","status":"answered","question":"How many days?","text":"24 days [1].","form":"extractive","language":"en","sentences":[{"text":"24 days [1].","states":true,"supported":true,"support":0.9,"citations":[{"number":1,"evidence_id":"p1","document_id":"d1","quote":"24 days","start":14,"end":21}],"unresolved":[]}],"evidence":[{"id":"p1","text":"Staff receive 24 days.","source":"knowledge","document_id":"d1","title":"Leave","location":"leave.md","headings":["How many days"],"page":null,"start":0,"end":22,"language":"en","metadata":{"relevance_score":0.8,"found_by":["knowledge"]}}],"missing":[],"review":null,"quality":{"grade":"high","score":0.8,"issues":[],"coverage":null,"relevance":0.0,"diversity":0.0,"count":0.0},"notices":[],"usage":{"calls":0,"input_tokens":0,"output_tokens":0,"cost_usd":0.0},"seconds":1.0}',0);
INSERT INTO "runs" VALUES(2,'old-running','bob','有給休暇は何日？','ja','{}','running','2026-11-15 12:26:32.918252',NULL,'','{"calls":0,"input_tokens":0,"output_tokens":0,"cost_usd":0.0}',NULL,0);
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
INSERT INTO "steps" VALUES('old-answered',1,'rewrite_query','2026-11-15 12:26:32.899160',0.1,'{}','{"query":"days"}');
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
INSERT INTO "weak_points" VALUES(1,'old-answered','ann','How many days?','low_score','2026-11-15 12:26:32.915919');
CREATE TABLE weak_terms (
	user_name TEXT NOT NULL, 
	term TEXT NOT NULL, 
	weak_point INTEGER NOT NULL, 
	PRIMARY KEY (user_name, term, weak_point), 
	FOREIGN KEY(weak_point) REFERENCES weak_points (number)
);
INSERT INTO "weak_terms" VALUES('ann','day',1);
CREATE INDEX runs_of_user ON runs (user_name, number);
CREATE INDEX ix_forgotten_documents_is_scrubbed ON forgotten_documents (is_scrubbed);
CREATE INDEX ix_evidence_document_id ON evidence (document_id);
CREATE INDEX ix_outbox_state ON outbox (state);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('runs',2);
INSERT INTO "sqlite_sequence" VALUES('weak_points',1);
INSERT INTO "sqlite_sequence" VALUES('outbox',1);
COMMIT;
