// Files and folders that are dropped on the page. Knows nothing about what becomes of them.
import { useEffect, useRef, useState } from "./vendor/preact.js";

const MOST_FILES = 10000;
const DEEPEST = 30;
const STILL_THERE = 600; // browsers repeat "dragover" at least this often, in milliseconds

// Whether files are held above the window; calls onFiles when they are dropped. Without onFiles they are only kept from
// being opened in place of the page.
export function useFileDrop(onFiles) {
  const [isOver, setOver] = useState(false);
  const handler = useRef(onFiles);
  handler.current = onFiles;

  useEffect(() => {
    let timer = 0;
    const leave = () => {
      clearTimeout(timer);
      setOver(false);
    };
    const over = (event) => {
      if (!bringsFiles(event)) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = handler.current ? "copy" : "none";
      clearTimeout(timer);
      timer = setTimeout(leave, STILL_THERE);
      setOver(Boolean(handler.current));
    };
    const drop = (event) => {
      if (!bringsFiles(event)) return;
      event.preventDefault();
      leave();
      if (handler.current) filesOf(event.dataTransfer).then((files) => handler.current?.(files));
    };
    window.addEventListener("dragover", over);
    window.addEventListener("drop", drop);
    return () => {
      clearTimeout(timer);
      window.removeEventListener("dragover", over);
      window.removeEventListener("drop", drop);
    };
  }, []);
  return isOver;
}

function bringsFiles(event) {
  return [...(event.dataTransfer?.types || [])].includes("Files");
}

// The transfer is emptied as soon as the event is over: everything is taken out of it before the first wait.
async function filesOf(transfer) {
  const items = [...transfer.items].filter((item) => item.kind === "file");
  const dropped = items.map((item) => ({ entry: item.webkitGetAsEntry?.(), file: item.getAsFile() }));
  const files = [];
  for (const { entry, file } of dropped) {
    if (entry?.isDirectory) await walk(entry, [entry.name], files);
    else if (file) files.push(file);
  }
  return files;
}

async function walk(folder, path, files) {
  const reader = folder.createReader();
  for (let entries = await batch(reader); entries.length; entries = await batch(reader)) {
    for (const entry of entries) {
      if (entry.name.startsWith(".") || files.length >= MOST_FILES) continue;
      if (entry.isFile) await take(entry, path, files);
      else if (path.length < DEEPEST) await walk(entry, [...path, entry.name], files);
    }
  }
}

// A reader gives a hundred entries at a time, and none when there are no more. What cannot be read is left out.
function batch(reader) {
  return new Promise((resolve) => reader.readEntries(resolve, () => resolve([])));
}

// Two folders may hold a file of the same name, and the second would take the place of the first: the name tells the way.
async function take(entry, path, files) {
  const file = await new Promise((resolve) => entry.file(resolve, () => resolve(null)));
  if (file) files.push(new File([file], [...path, file.name].join("/"), { type: file.type }));
}
