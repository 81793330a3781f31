// Files and folders dropped on the page.
import { useEffect, useRef, useState } from "../lib/preact.js";
import { MAX_FILES } from "./upload-queue.js";

const MAX_DEPTH = 30;
const DRAG_TIMEOUT = 600; // milliseconds; browsers repeat "dragover" more often than that

/**
 * Whether files are dragged over the window. Without `onFiles`, dropped files are ignored instead of opened.
 * @param {((files: File[]) => void) | null} onFiles
 */
export function useFileDrop(onFiles) {
  const [isDragging, setDragging] = useState(false);
  const handler = useRef(onFiles);
  handler.current = onFiles;

  useEffect(() => {
    let timer = 0;
    const leave = () => {
      clearTimeout(timer);
      setDragging(false);
    };
    const onDragOver = (/** @type {DragEvent} */ event) => {
      if (!event.dataTransfer || !hasFiles(event.dataTransfer)) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = handler.current ? "copy" : "none";
      clearTimeout(timer);
      timer = setTimeout(leave, DRAG_TIMEOUT);
      setDragging(Boolean(handler.current));
    };
    const onDrop = (/** @type {DragEvent} */ event) => {
      if (!event.dataTransfer || !hasFiles(event.dataTransfer)) return;
      event.preventDefault();
      leave();
      if (handler.current) readTransfer(event.dataTransfer).then((files) => handler.current?.(files));
    };
    window.addEventListener("dragover", onDragOver);
    window.addEventListener("drop", onDrop);
    return () => {
      clearTimeout(timer);
      window.removeEventListener("dragover", onDragOver);
      window.removeEventListener("drop", onDrop);
    };
  }, []);
  return isDragging;
}

/** @param {DataTransfer} transfer */
function hasFiles(transfer) {
  return [...transfer.types].includes("Files");
}

/**
 * The transfer is emptied after the event, so everything is taken out before the first await.
 * @param {DataTransfer} transfer
 */
async function readTransfer(transfer) {
  const items = [...transfer.items].filter((item) => item.kind === "file");
  const dropped = items.map((item) => ({ entry: item.webkitGetAsEntry?.(), file: item.getAsFile() }));
  /** @type {File[]} */
  const files = [];
  for (const { entry, file } of dropped) {
    if (entry?.isDirectory) await readFolder(/** @type {FileSystemDirectoryEntry} */ (entry), [entry.name], files);
    else if (file) files.push(file);
  }
  return files;
}

/** @param {FileSystemDirectoryEntry} folder @param {string[]} path @param {File[]} files */
async function readFolder(folder, path, files) {
  const reader = folder.createReader();
  for (let entries = await readBatch(reader); entries.length; entries = await readBatch(reader)) {
    for (const entry of entries) {
      if (entry.name.startsWith(".") || files.length > MAX_FILES) continue;
      if (entry.isFile) await readFile(/** @type {FileSystemFileEntry} */ (entry), path, files);
      else if (path.length < MAX_DEPTH) await readFolder(/** @type {FileSystemDirectoryEntry} */ (entry), [...path, entry.name], files);
    }
  }
}

/**
 * Up to a hundred entries, and none at the end. Unreadable folders are skipped.
 * @param {FileSystemDirectoryReader} reader
 * @returns {Promise<FileSystemEntry[]>}
 */
function readBatch(reader) {
  return new Promise((resolve) => reader.readEntries(resolve, () => resolve([])));
}

/**
 * The name includes the path, so that files of the same name in two folders do not replace each other.
 * @param {FileSystemFileEntry} entry
 * @param {string[]} path
 * @param {File[]} files
 */
async function readFile(entry, path, files) {
  /** @type {File | null} */
  const file = await new Promise((resolve) => entry.file(resolve, () => resolve(null)));
  if (file) files.push(new File([file], [...path, file.name].join("/"), { type: file.type }));
}
