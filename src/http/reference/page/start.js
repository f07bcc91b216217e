/* global SwaggerUIBundle */
(() => {
  const KEPT = 'threat-protection-key';
  // Relative to this script, so that it also works under a proxy's path.
  const url = new URL('../openapi.json', document.currentScript.src).href;

  const dark = matchMedia('(prefers-color-scheme: dark)');
  const followScheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
  followScheme();
  dark.addEventListener('change', followScheme);

  const refersTo = (part, folder) =>
    String(part.get('$$ref') ?? part.get('$ref') ?? '').includes(`#/components/${folder}/`);

  /** What the table of errors says of every route; repeated at each, it would hide what is the route's own. */
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
      // A link inside the button that opens an operation cannot be reached by keyboard.
      DeepLink:
        (DeepLink, { React }) =>
        (props) =>
          React.createElement(DeepLink, { ...props, enabled: false }),
    },
  });

  const ERRORS = '\n## Errors\n';

  /** Routes come first: the part of the description on errors is shown below them. */
  const ErrorsLast = () => ({
    statePlugins: {
      spec: {
        wrapSelectors: {
          selectInfoDescriptionField:
            (select) =>
            (...args) =>
              String(select(...args)).split(ERRORS)[0],
        },
      },
    },
    wrapComponents: {
      operations:
        (Operations, { React, getComponent, specSelectors }) =>
        (props) => {
          const [, errors = ''] = String(specSelectors.info().get('description')).split(ERRORS);
          return React.createElement(
            React.Fragment,
            null,
            React.createElement(Operations, props),
            React.createElement(
              'section',
              { id: 'errors', 'aria-labelledby': 'errors-title' },
              React.createElement('h2', { id: 'errors-title' }, 'Errors'),
              React.createElement(getComponent('Markdown', true), { source: errors }),
            ),
          );
        },
    },
  });

  /** The key survives a reload of the page, but not the end of its tab. */
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

  /** Names for readers who do not see what a control stands beside. */
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
    plugins: [SaidOnce, ErrorsLast, KeyOfSession],
    onComplete: () => {
      const key = sessionStorage.getItem(KEPT);
      if (key !== null) ui.preauthorizeApiKey('key', key);
    },
  });
  new MutationObserver(name).observe(document.getElementById('swagger-ui'), { childList: true, subtree: true });
})();
