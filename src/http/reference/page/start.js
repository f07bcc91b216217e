/* global SwaggerUIBundle */
(() => {
  const KEPT = 'threat-protection-key';
  // Relative to itself, so that it also works under a path of a proxy.
  const url = new URL('../openapi.json', document.currentScript.src).href;

  const refersTo = (part, folder) =>
    String(part.get('$$ref') ?? part.get('$ref') ?? '').includes(`#/components/${folder}/`);

  /** What the table at the top says of every route; repeated at each, it hides what is a route's own. */
  const isSaidOnce = (response, status) =>
    refersTo(response, 'responses') ||
    status === '415' ||
    (status === '413' && String(response.get('description')).includes(' 65,536 '));

  const withOwnHeaders = (response) => {
    const own = response.get('headers')?.filterNot((header) => refersTo(header, 'headers'));
    return own?.size ? response.set('headers', own) : response.delete('headers');
  };

  const SaidOnce = () => ({
    wrapComponents: {
      responses:
        (Responses, { React }) =>
        (props) => {
          const own = props.responses.filterNot((response, status) => response.get && isSaidOnce(response, status));
          const errors = React.createElement('a', { href: '#errors' }, 'Errors');
          return React.createElement(
            React.Fragment,
            null,
            React.createElement(Responses, {
              ...props,
              responses: own.map((response) => (response.get ? withOwnHeaders(response) : response)),
            }),
            own.size < props.responses.size &&
              React.createElement(
                'p',
                { className: 'said-once' },
                'What every route may answer is listed under ',
                errors,
                '.',
              ),
          );
        },
      // A link inside of the button that opens an operation cannot be reached by a keyboard.
      DeepLink:
        (DeepLink, { React }) =>
        (props) =>
          React.createElement(DeepLink, { ...props, enabled: false }),
    },
  });

  /** The key outlives a reload of the page, not its tab. */
  const KeyOfSession = () => ({
    statePlugins: {
      auth: {
        wrapActions: {
          authorize: (authorize) => (payload) => {
            sessionStorage.setItem(KEPT, payload.key.value);
            return authorize(payload);
          },
          logout: (logout) => (names) => {
            sessionStorage.removeItem(KEPT);
            return logout(names);
          },
        },
      },
    },
  });

  /** Names for who does not see what a control stands beside. */
  const NAMES = {
    '#servers': 'Server',
    '.examples-select-element': 'Example',
    '.content-type-select, .content-type': 'Media type',
    '.body-param__text': 'Request body',
    '.close-modal': 'Close',
    '.copy-to-clipboard button': 'Copy',
  };
  const name = () => {
    for (const [selector, text] of Object.entries(NAMES))
      for (const control of document.querySelectorAll(selector))
        if (!control.hasAttribute('aria-label')) control.setAttribute('aria-label', text);
    for (const select of document.querySelectorAll('select:not([aria-label])'))
      select.setAttribute('aria-label', 'Value');
    for (const text of document.querySelectorAll(
      'pre.microlight:not([tabindex]), .body-param__example:not([tabindex])',
    ))
      text.tabIndex = 0;
    for (const submit of document.querySelectorAll('.modal-ux button[type=submit][aria-label]'))
      submit.removeAttribute('aria-label');
    for (const field of document.querySelectorAll('.modal-ux input:not([aria-label])'))
      field.setAttribute('aria-label', 'API key');
    for (const field of document.querySelectorAll('.parameters input:not([aria-label])'))
      field.setAttribute('aria-label', field.placeholder || 'Value');
  };

  const ui = SwaggerUIBundle({
    url,
    dom_id: '#swagger-ui',
    deepLinking: true,
    tryItOutEnabled: true,
    displayRequestDuration: true,
    docExpansion: 'list',
    defaultModelsExpandDepth: 0,
    syntaxHighlight: false,
    plugins: [SaidOnce, KeyOfSession],
    onComplete: () => {
      const key = sessionStorage.getItem(KEPT);
      if (key !== null) ui.preauthorizeApiKey('key', key);
      const errors = [...document.querySelectorAll('.info h2')].find(({ textContent }) => textContent === 'Errors');
      if (errors !== undefined) errors.id = 'errors';
    },
  });
  new MutationObserver(name).observe(document.getElementById('swagger-ui'), { childList: true, subtree: true });
})();
