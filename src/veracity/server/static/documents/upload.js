// Sends files and reads the server's events about them. XMLHttpRequest, because fetch reports no upload progress.
import { errorFrom, offlineError } from "../lib/http.js";
import { eventParser } from "../lib/sse.js";
/** @import { IngestReport } from "../lib/types.d.ts" */

/**
 * `onProgress` gets the share that was sent; `signal` ends the sending, but not the reading that follows.
 * @param {string} path
 * @param {File[]} files
 * @param {{ onProgress?: (share: number) => void, onEvent?: (kind: string, data: any) => void, signal?: AbortSignal }} handlers
 * @returns {Promise<IngestReport>}
 */
export function upload(path, files, { onProgress = () => {}, onEvent = () => {}, signal } = {}) {
  const form = new FormData();
  for (const file of files) form.append("files", file, file.name);
  const request = new XMLHttpRequest();
  return new Promise((resolve, reject) => {
    /** @type {IngestReport | null} */
    let report = null;
    let length = 0;
    const parse = eventParser(({ kind, data }) => {
      if (kind === "report") report = data;
      onEvent(kind, data);
    });
    const readNew = () => {
      if (request.status !== 200) return;
      parse(request.responseText.slice(length));
      length = request.responseText.length;
    };
    request.upload.onprogress = (event) => event.lengthComputable && onProgress(event.loaded / event.total);
    request.onprogress = readNew;
    request.onerror = request.onabort = () => reject(offlineError());
    let isSent = false;
    request.upload.onload = () => { isSent = true; };
    signal?.addEventListener("abort", () => { if (!isSent) request.abort(); });
    request.onload = () => {
      readNew();
      if (request.status < 300 && report) resolve(report);
      else reject(errorFrom(request.status, request.responseText, request.getResponseHeader("Retry-After")));
    };
    request.open("POST", path);
    request.setRequestHeader("Accept", "text/event-stream");
    request.send(form);
  });
}
