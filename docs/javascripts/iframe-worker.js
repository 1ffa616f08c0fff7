// Pages that are opened as files may not start workers, and the search runs in one. This
// starts the worker's script in a hidden frame instead, so that nothing has to be fetched
// from elsewhere. On a server the browser's own workers are used.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.srcdoc = "<script></script>";
      this.frame = new Promise((ready) => {
        frame.onload = () => {
          const inside = frame.contentWindow;
          // What the script posts comes out here; what is posted here goes in.
          inside.postMessage = (data) =>
            this.dispatchEvent(new MessageEvent("message", { data }));
          inside.importScripts = (...urls) =>
            urls.reduce((before, each) => before.then(() => load(inside, each)),
              Promise.resolve());
          load(inside, url).then(() => ready(inside));
        };
      });
      document.documentElement.appendChild(frame);
      this.terminate = () => frame.remove();
    }

    postMessage(data) {
      this.frame = this.frame.then((inside) => {
        inside.dispatchEvent(new inside.MessageEvent("message", { data }));
        return inside;
      });
    }
  };
}

function load(inside, url) {
  return new Promise((done, failed) => {
    const script = inside.document.createElement("script");
    script.src = url;
    script.onload = done;
    script.onerror = failed;
    inside.document.head.appendChild(script);
  });
}
